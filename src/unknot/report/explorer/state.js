// What the page shows: a point in the space of codes, and how it is written into the address.
//
// Sliders count in standard deviations of a latent over the data. Under one slider each model has
// the latent that is matched with it, or none.

const REACH = 3; // standard deviations that sliders reach to either side of the mean
const page = JSON.parse(document.getElementById("explorer-data").textContent);
const starts = page.models[0].codes.length;
const live = !page.frames; // whether the browser decodes
const SPAN = live ? 2 : REACH; // what rows of pictures and maps reach
const active = page.sliders.flatMap((slider, i) => (slider.active ? [i] : []));

// moves: how far each slider stands from the code between the images `start` and `end`.
const state = {
  start: 0,
  end: farthestFrom(0),
  share: 0,
  moves: still(),
  exchanged: new Set(active.slice(0, 1)),
  slider: active[0] ?? 0,
  axes: [active[0] ?? 0, active[1] ?? page.sliders.length - 1],
};

function still() {
  return page.sliders.map(() => 0);
}

// The start whose code differs most, in standard deviations of the first model.
function farthestFrom(start) {
  const { codes, sd } = page.models[0];
  const distances = codes.map((code) => code.reduce((sum, value, z) => sum + ((value - codes[start][z]) / sd[z]) ** 2, 0));
  return distances.indexOf(Math.max(...distances));
}

function baseCode(model, { start, end, share }) {
  const goal = model.codes[end];
  return model.codes[start].map((value, z) => value + share * (goal[z] - value));
}

function codeAt(m, point) {
  const model = page.models[m], code = baseCode(model, point);
  page.sliders.forEach(({ latents, signs }, i) => {
    const z = latents[m];
    if (z === null) return;
    if ("donor" in point && point.exchanged.has(i)) code[z] = model.codes[point.donor][z];
    code[z] += signs[m] * point.moves[i] * model.sd[z];
  });
  return code;
}

// Where a slider stands without moves: the first model that has its latent says.
function basePosition(i, point = state) {
  const { latents, signs } = page.sliders[i];
  const m = latents[0] === null ? 1 : 0, z = latents[m], model = page.models[m];
  return (signs[m] * (baseCode(model, point)[z] - model.mean[z])) / model.sd[z];
}

function position(i) {
  return basePosition(i) + state.moves[i];
}

function withMoves(changes, point = state) {
  const moves = live ? [...point.moves] : still(); // frames move one latent at a time
  for (const [i, place] of changes) moves[i] = place - basePosition(i);
  return { ...point, moves };
}

// The code of an image as it is.
function pointOf(start) {
  return { start, end: start, share: 0, moves: still() };
}

// The same with some latents of another image.
function exchangedPoint(start, donor) {
  return { ...pointOf(start), donor, exchanged: state.exchanged };
}

// The address: #start=3&end=7&share=0.5&z0=1.25&exchange=z0,z4&map=z0,z1

function toHash() {
  const words = { start: state.start, end: state.end };
  if (state.share) words.share = tidy(state.share);
  page.sliders.forEach(({ key }, i) => {
    if (Math.abs(state.moves[i]) > 5e-4) words[key] = tidy(state.moves[i]);
  });
  if (live) {
    words.exchange = keysOf([...state.exchanged]);
    words.map = keysOf(state.axes);
  }
  return "#" + Object.entries(words).map(([name, value]) => `${name}=${value}`).join("&");
}

function fromHash(hash) {
  const words = Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
  const image = (text, otherwise) => {
    const number = Number.parseInt(text, 10);
    return number >= 0 && number < starts ? number : otherwise;
  };
  const between = (low, high, text) => Math.min(high, Math.max(low, Number(text) || 0));
  state.start = image(words.start, state.start);
  state.end = image(words.end, state.end);
  state.share = between(0, 1, words.share);
  state.moves = page.sliders.map(({ key }) => between(-99, 99, words[key]));
  if ("exchange" in words) state.exchanged = new Set(slidersOf(words.exchange));
  const axes = slidersOf(words.map ?? "");
  if (axes.length === 2) state.axes = axes;
}

function keysOf(sliders) {
  return sliders.map((i) => page.sliders[i].key).join();
}

function slidersOf(text) {
  return text.split(",").map((key) => page.sliders.findIndex((slider) => slider.key === key)).filter((i) => i >= 0);
}

function tidy(value) {
  return String(Math.round(value * 1000) / 1000);
}
