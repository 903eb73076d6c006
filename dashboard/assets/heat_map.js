// The heat map of every page: colours, cells on a canvas, and the cell under a pointer or an arrow key.
(function () {
  const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  let ramp = null;
  A.forgetRamp = () => {
    ramp = null;
  };
  /** The colour of a share of the darkest weight: by its square root, so that small weights stay visible. */
  A.heatColour = (share) => {
    ramp ??= colourRamp(A.colour("ramp").split(/\s+/).map(rgbOf));
    return ramp[Math.round(255 * Math.sqrt(Math.min(1, Math.max(0, share || 0))))];
  };
  A.shade = (share) => `rgb(${A.heatColour(share).join()})`;
  /** Draws cells; where `colourOf(row, column)` is null, the panel shows through. */
  A.paintCells = (canvas, rows, columns, colourOf) =>
    paintPixels(canvas, columns, rows, (pixels) => {
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++) {
          const colour = colourOf(row, column);
          if (colour) pixels[row * columns + column] = pixelOf(colour);
        }
    });
  /** Row and column of the cell under the pointer. */
  A.cellUnder = (event, node, rows, columns) => {
    const box = node.getBoundingClientRect();
    const within = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    return [
      within((event.clientY - box.top) / box.height, rows),
      within((event.clientX - box.left) / box.width, columns),
    ];
  };
  /** By how many rows and columns an arrow key moves; undefined for other keys. */
  A.arrow = (event) => {
    const step = ARROWS[event.key];
    if (step) {
      event.preventDefault();
      event.stopPropagation();
    }
    return step;
  };
})();
