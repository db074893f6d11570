// Frames: pictures that were decoded before, for models whose decoder is not in the file.
//
// Each start has a sheet: in its first row the reconstruction, then a row for each active slider
// with a frame for each stop.

// A function that paints a point onto a canvas, once its sheet is there.
function makeFrames({ sheets, sliders, stops, width, height }) {
  const images = sheets.map((address) => Object.assign(new Image(), { src: address }));

  function place({ start, moves }) {
    const i = moves.findIndex((move) => Math.abs(move) > 1e-6), row = sliders.indexOf(i);
    if (row < 0) return [0, 0];
    const share = (basePosition(i, pointOf(start)) + moves[i] + REACH) / (2 * REACH);
    return [Math.min(stops - 1, Math.max(0, Math.round(share * (stops - 1)))), row + 1];
  }

  return (canvas, point) => {
    const [column, row] = place(point), image = images[point.start];
    canvas.width = width;
    canvas.height = height;
    const paint = () => canvas.getContext("2d").drawImage(
      image, column * width, row * height, width, height, 0, 0, width, height);
    if (image.complete) paint();
    else image.addEventListener("load", paint, { once: true });
  };
}
