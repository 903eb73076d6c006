// What the scripts find outside themselves: Dash, and templates/heat_maps.js.
interface Window {
  dash_clientside: any;
}
type Colour = number[];
declare function rgbOf(hex: string): Colour;
declare function pixelOf(colour: Colour): number;
declare function colourRamp(stops: Colour[]): Colour[];
declare function paintPixels(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  draw: (pixels: Uint32Array, width: number) => void,
): void;
