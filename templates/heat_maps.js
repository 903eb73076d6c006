// Heat maps for all pages: colours, drawing on a canvas, and the cell that a pointer or a key selects.
/** @typedef {[number, number, number]} Colour red, green and blue, 0 to 255 */
/**
 * The cells of a heat map, with their shades.
 * @typedef {object} Shades
 * @property {number} rows
 * @property {number} columns
 * @property {(row: number, column: number) => number} shade 0 to 255, or -1 for a cell that is not drawn
 * @property {(column: number) => Uint32Array} palette the pixel value of each shade
 */
const DARKEST = 255;
/** @type {Record<string, [number, number]>} */
const ARROWS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** Returns 256 colours, interpolated between equally spaced colours of the page's style.
 * @param {string[]} names @returns {Colour[]} */
export function ramp(...names) {
  const style = getComputedStyle(document.documentElement);
  const stops = names.map((name) => {
    const hex = style.getPropertyValue(`--${name}`).trim();
    return [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
  });
  return Array.from({ length: DARKEST + 1 }, (_, step) => {
    const place = (step / DARKEST) * (stops.length - 1),
      low = Math.min(Math.floor(place), stops.length - 2);
    const [from, to] = [stops[low], stops[low + 1]];
    return /** @type {Colour} */ (from.map((part, at) => Math.round(part + (to[at] - part) * (place - low))));
  });
}
export const blues = () => ramp("ramp0", "ramp1", "ramp2", "ramp3", "ramp4");
/** @param {Colour[]} colours */
export const pixels = (colours) =>
  Uint32Array.from(colours, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
/** Returns the position of a weight on the colour scale, 0 to 1. The square root keeps small weights visible.
 * @param {number} weight @param {number} most */
export const place = (weight, most) => Math.sqrt(Math.min(1, Math.max(0, weight / most)));
/** @param {number} weight @param {number} most the weight of the darkest shade */
export const shade = (weight, most) => Math.round(DARKEST * place(weight, most));

/** Sets the size of a canvas, and fills its pixels with `draw`.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 * @param {(all: Uint32Array) => void} draw */
export function paint(canvas, width, height, draw) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(width, height);
  draw(new Uint32Array(image.data.buffer));
  context.putImageData(image, 0, 0);
}
/** Draws cells into a box of pixels. A pixel that covers several cells gets the darkest shade.
 * @param {Uint32Array} all @param {number} stride pixels per line
 * @param {{ left: number, top: number, width: number, height: number }} box @param {Shades} map */
export function paintCells(all, stride, box, map) {
  for (let x = 0; x < box.width; x++) {
    const left = Math.floor((x * map.columns) / box.width);
    const right = Math.ceil(((x + 1) * map.columns) / box.width);
    for (let y = 0; y < box.height; y++) {
      const top = Math.floor((y * map.rows) / box.height);
      const bottom = Math.ceil(((y + 1) * map.rows) / box.height);
      let best = -1,
        where = 0;
      for (let column = left; column < right; column++)
        for (let row = top; row < bottom; row++) {
          const found = map.shade(row, column);
          if (found > best) [best, where] = [found, column];
        }
      if (best >= 0) all[(box.top + y) * stride + box.left + x] = map.palette(where)[best];
    }
  }
}
/** Draws cells on a canvas, with one pixel for each cell.
 * @param {HTMLCanvasElement} canvas @param {Shades} map */
export const paintMap = (canvas, map) =>
  paint(canvas, map.columns, map.rows, (all) =>
    paintCells(all, map.columns, { left: 0, top: 0, width: map.columns, height: map.rows }, map),
  );

/** @param {number} value @param {number} least @param {number} most */
export const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
/** Returns the row and the column of the cell under the pointer. @returns {[number, number]}
 * @param {{ clientX: number, clientY: number }} event
 * @param {Element} node @param {number} rows @param {number} columns */
export function cellUnder(event, node, rows, columns) {
  const box = node.getBoundingClientRect();
  const cell = (/** @type {number} */ share, /** @type {number} */ count) =>
    clamp(Math.floor(share * count), 0, count - 1);
  return [
    cell((event.clientY - box.top) / box.height, rows),
    cell((event.clientX - box.left) / box.width, columns),
  ];
}
/** Returns the rows and columns that a key moves by, or undefined for other keys.
 * @param {KeyboardEvent} event */
export function moved(event) {
  const step = ARROWS[event.key];
  if (step) {
    event.preventDefault();
    event.stopPropagation();
  }
  return step;
}
