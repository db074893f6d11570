// What the page shows: a point in the space of codes, and how it is written into the address.
//
// Sliders count in standard deviations of a latent over the data. Under one slider each model has
// the latent that is matched with it, or none.

"use strict";

const REACH = 3; // standard deviations to either side of the mean
const page = JSON.parse(document.getElementById("explorer-data").textContent);
const starts = page.models[0].codes.length;

// moves: how far each slider stands from the code between the images `start` and `end`.
const state = {
  start: 0,
  end: Math.min(1, starts - 1),
  share: 0,
  moves: page.sliders.map(() => 0),
  exchanged: new Set(),
  slider: 0,
  axes: [0, Math.min(1, page.sliders.length - 1)],
};

function still() {
  return page.sliders.map(() => 0);
}

function baseCode(model, { start, end, share }) {
  const goal = model.codes[end];
  return model.codes[start].map((value, z) => value + share * (goal[z] - value));
}

function codeAt(m, point) {
  const model = page.models[m], code = baseCode(model, point);
  page.sliders.forEach(({ latents, signs }, i) => {
    if (latents[m] !== null) code[latents[m]] += signs[m] * point.moves[i] * model.sd[latents[m]];
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
  const moves = page.frames ? still() : [...point.moves]; // frames move one latent at a time
  for (const [i, place] of changes) moves[i] = place - basePosition(i);
  return { ...point, moves };
}

// Codes with some latents of the other image.
function exchangedPoint(from, to) {
  const point = { ...state, start: from, end: from, share: 0, moves: still() };
  const other = { ...point, start: to, end: to };
  for (const i of state.exchanged) point.moves[i] = basePosition(i, other) - basePosition(i, point);
  return point;
}

// The address: #start=3&end=7&share=0.5&z0=1.25&exchange=z0,z4

function toHash() {
  const words = { start: state.start, end: state.end };
  if (state.share) words.share = tidy(state.share);
  page.sliders.forEach(({ name }, i) => {
    if (Math.abs(state.moves[i]) > 5e-4) words[name] = tidy(state.moves[i]);
  });
  if (state.exchanged.size) words.exchange = [...state.exchanged].map((i) => page.sliders[i].name).join();
  return "#" + Object.entries(words).map(([key, value]) => `${key}=${value}`).join("&");
}

function fromHash(hash) {
  const words = Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
  const image = (text, otherwise) => {
    const number = Number.parseInt(text, 10);
    return number >= 0 && number < starts ? number : otherwise;
  };
  state.start = image(words.start, state.start);
  state.end = image(words.end, state.end);
  state.share = Math.min(1, Math.max(0, Number(words.share) || 0));
  state.moves = page.sliders.map(({ name }) => Math.min(99, Math.max(-99, Number(words[name]) || 0)));
  const names = (words.exchange || "").split(",");
  state.exchanged = new Set(page.sliders.flatMap(({ name }, i) => (names.includes(name) ? [i] : [])));
}

function tidy(value) {
  return String(Math.round(value * 1000) / 1000);
}
