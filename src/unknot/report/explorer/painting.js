// Painting: which picture goes where, the nearest first and none for longer than a moment.

const BUDGET = 12; // milliseconds of work between two frames of the screen
const queues = new Map(); // pictures that wait, by what they belong to

const painters = page.models.map((model) => (model.frames ? makeFrames(model.frames) : makePainter(model)));

function makePainter(model) {
  const decode = makeDecoder(model.decoder);
  return (canvas, point, m) => {
    const image = decode(codeAt(m, point));
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").putImageData(image, 0, 0);
  };
}

function paint(m, canvas, point) {
  painters[m](canvas, point, m);
}

// Paint later, in order; what waited under the same name is forgotten.
function paintLater(name, jobs) {
  const idle = [...queues.values()].every((waiting) => waiting.length === 0);
  queues.set(name, jobs);
  if (idle) requestAnimationFrame(paintSome);
}

function paintSome() {
  const end = performance.now() + BUDGET;
  for (const jobs of queues.values()) {
    while (jobs.length && performance.now() < end) jobs.shift()();
  }
  if ([...queues.values()].some((jobs) => jobs.length)) requestAnimationFrame(paintSome);
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
