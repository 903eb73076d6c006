"use strict";
// Colours and pixels of every heat map: the pages of recordings and the dashboard share them.
// A colour is a list of red, green and blue, each 0 to 255.
const rgbOf = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
const pixelOf = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
// 256 colours along stops that are equally far apart.
function colourRamp(stops) {
  return Array.from({ length: 256 }, (_, step) => {
    const place = (step / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
    const mixed = (part, which) => Math.round(part + (stops[low + 1][which] - part) * (place - low));
    return stops[low].map(mixed);
  });
}
// A canvas of that size; `draw` fills its pixels, row by row.
function paintPixels(canvas, width, height, draw) {
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  draw(new Uint32Array(image.data.buffer), width);
  context.putImageData(image, 0, 0);
}
// The heat maps of a recording: what is stored of them, on what scale they are, how they are drawn.
// A map is an object: rows, columns, levels of its cells column by column, its largest weight `top`,
// the largest outside sinks `rest`, which columns are sinks, bounds of the entropy of each row.
// `choice` says how: `each` head on a scale of its own, sinks set `apart`.
function heatMaps(data, choice) {
  const SHADES = 255, ENTROPY_STEPS = 4096, UNTOLD = 65535;
  const fine = data.levels > SHADES, Cells = fine ? Uint16Array : Uint8Array;

  const bend = (part) => data.bend * (Math.pow(1 + 1 / data.bend, part) - 1);
  const weightOf = (map, cell) => map.top * bend(cell / data.levels);
  const weightAt = (map, row, column) => weightOf(map, map.cells[column * map.rows + row]);

  async function inflated(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }
  // Every map of a record, whose cells have so many rows and columns.
  async function unpacked(record, rows, columns) {
    if (!record.drawn) {
      const buffer = await inflated(record.packed);
      let at = 0;
      const take = (Kind, count) => {
        const part = new Kind(buffer, at, count);
        at += Math.ceil((count * Kind.BYTES_PER_ELEMENT) / 2) * 2;
        return part;
      };
      record.drawn = record.maps.map(({ top, rest, sinks }) => ({
        rows, columns, top, rest,
        sinks: Uint8Array.from({ length: columns }, (_, column) => sinks.includes(column)),
        cells: take(Cells, rows * columns), low: take(Uint16Array, rows), high: take(Uint16Array, rows),
      }));
    }
    return record.drawn;
  }
  // Bounds of a row's entropy in nats; null where it pays nothing.
  const entropy = (map, row) => (map.low[row] === UNTOLD ? null
    : [map.low[row] / ENTROPY_STEPS, map.high[row] / ENTROPY_STEPS]);

  // The weight of the darkest shade.
  const whole = { top: 0, rest: 0 };
  for (const told of data.records.flatMap((one) => one.maps)) {
    whole.top = Math.max(whole.top, told.top);
    whole.rest = Math.max(whole.rest, told.rest);
  }
  // How far a weight may be from the one that was recorded: a part of itself, and of the largest.
  const halfStep = Math.log(1 + 1 / data.bend) / data.levels / 2;
  const zeros = Math.max(0, Math.floor(-Math.log10(whole.top || 1))); // after the point of the largest
  const within = { digits: (fine ? 4 : 3) + zeros, part: halfStep, least: halfStep * data.bend };
  const anySink = data.records.some((one) => one.maps.some((told) => told.sinks.length));
  const darkest = (map) => {
    const from = choice.each ? map : whole;
    return (choice.apart && from.rest) || from.top || 1;
  };
  const darkestSink = (map) => (choice.each ? map.top : whole.top) || 1;
  const isSink = (map, column) => choice.apart && map.sinks[column] === 1;
  // The part of the scale's length, 0 to 1, at which a weight stands.
  const length = (weight, most) => Math.sqrt(Math.min(1, weight / most));
  const shade = (weight, most) => Math.round(SHADES * length(weight, most));

  // Colours: the ramp of every page, and one of its own for sinks.
  let blues, greys;
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => rgbOf(style.getPropertyValue("--" + name).trim());
    blues = colourRamp([0, 1, 2, 3, 4].map((step) => of("ramp" + step)));
    greys = colourRamp([of("ramp0"), of("sink")]);
  }
  function colourAt(map, row, column) {
    const weight = weightAt(map, row, column);
    return isSink(map, column) ? greys[shade(weight, darkestSink(map))] : blues[shade(weight, darkest(map))];
  }
  // Draws a map into a box of pixels; where several cells share one, it has the darkest of them.
  function paint(pixels, stride, box, map) {
    const shift = fine ? 8 : 0, steps = (data.levels >> shift) + 1;
    const shades = (most) =>
      Uint8Array.from({ length: steps }, (_, cell) => shade(weightOf(map, cell << shift), most));
    const [usual, aside] = [shades(darkest(map)), shades(darkestSink(map))];
    const [blue, grey] = [blues.map(pixelOf), greys.map(pixelOf)];
    for (let x = 0; x < box.width; x++) {
      const left = Math.floor((x * map.columns) / box.width);
      const right = Math.ceil(((x + 1) * map.columns) / box.width);
      for (let y = 0; y < box.height; y++) {
        const top = Math.floor((y * map.rows) / box.height);
        const bottom = Math.ceil(((y + 1) * map.rows) / box.height);
        let best = -1, sink = false;
        for (let column = left; column < right; column++) {
          const set = isSink(map, column), table = set ? aside : usual, start = column * map.rows;
          for (let place = start + top; place < start + bottom; place++) {
            const found = table[map.cells[place] >> shift];
            if (found > best) [best, sink] = [found, set];
          }
        }
        pixels[(box.top + y) * stride + box.left + x] = (sink ? grey : blue)[best];
      }
    }
  }
  return { unpacked, weightAt, entropy, within, whole, anySink, darkest, darkestSink, isSink, length,
    readColours, colourAt, paint };
}
