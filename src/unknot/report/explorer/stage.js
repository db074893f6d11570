// The stage: the picture of each model, the row of pictures below it, the sliders, and play.

"use strict";

const COLUMNS = 9;
const STOPS = page.frames ? page.models[0].frames.stops : 0;
const PERIOD = 4000; // milliseconds that play spends on a slider

const screens = [...document.querySelectorAll(".screen canvas")];
const inputs = [...document.querySelectorAll(".slider input")];
const values = [...document.querySelectorAll(".slider output")];
const active = page.sliders.flatMap((slider, i) => (slider.active ? [i] : []));
let strip = [];

function placeOf(column, columns = COLUMNS) {
  return REACH * ((2 * column) / (columns - 1) - 1);
}

function setupStage() {
  inputs.forEach((input, i) => {
    input.addEventListener("input", () => moveSliders([[i, Number(input.value)]]));
    input.addEventListener("focus", () => chooseSlider(i));
    document.querySelectorAll(".slider")[i].addEventListener("pointerdown", () => chooseSlider(i));
  });
  strip = page.models.map((_, m) => {
    const row = document.querySelectorAll(".strip")[m];
    return Array.from({ length: COLUMNS }, (_, column) => {
      const canvas = element("canvas");
      const button = element("button", { type: "button", title: `${spell(placeOf(column))} σ` }, canvas);
      button.addEventListener("click", () => moveSliders([[state.slider, placeOf(column)]]));
      row.append(button);
      return canvas;
    });
  });
  document.getElementById("reset").addEventListener("click", () => show({ moves: still(), share: 0, exchanged: new Set() }));
  document.getElementById("random").addEventListener("click", chooseAtRandom);
  document.getElementById("play").addEventListener("click", () => (playing ? stop() : play()));
}

function spell(value) {
  return (value > 0 ? "+" : "") + value.toFixed(1).replace("-", "−");
}

function moveSliders(changes) {
  if (changes.length === 1) state.slider = changes[0][0];
  show({ moves: withMoves(changes).moves });
}

function chooseSlider(i) {
  if (state.slider !== i) show({ slider: i });
}

function chooseAtRandom() {
  const draw = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const some = page.frames ? [active[Math.floor(Math.random() * active.length)]] : active;
  show({ moves: withMoves(some.map((i) => [i, Math.max(-REACH, Math.min(REACH, draw()))])).moves });
}

function paintStage() {
  screens.forEach((canvas, m) => paint(m, canvas, state));
  inputs.forEach((input, i) => {
    const place = position(i), reach = Math.max(REACH, Math.abs(place));
    input.min = -reach;
    input.max = reach;
    input.value = place;
    input.setAttribute("aria-valuetext", `${spell(place)} standard deviations`);
    values[i].textContent = `${spell(place)} σ`;
    input.closest(".slider").classList.toggle("chosen", i === state.slider);
  });
}

function paintStrip() {
  document.getElementById("strip-name").textContent = page.sliders[state.slider].title;
  const nearest = Math.round(((position(state.slider) + REACH) / (2 * REACH)) * (COLUMNS - 1));
  const jobs = strip.flatMap((row, m) => row.map((canvas, column) => () => {
    paint(m, canvas, withMoves([[state.slider, placeOf(column)]]));
  }));
  strip.flatMap((row) => row.map((canvas, column) => canvas.parentElement.classList.toggle("near", column === nearest)));
  paintLater("strip", jobs);
}

// Play: one active slider after the other goes up, down and home.

let playing = null;

function play() {
  const begin = performance.now(), home = { ...state }, first = Math.max(0, active.indexOf(state.slider));
  document.getElementById("play").textContent = "Stop";
  playing = requestAnimationFrame(function step(now) {
    const turns = Math.max(0, now - begin) / PERIOD, i = active[(first + Math.floor(turns)) % active.length];
    const place = basePosition(i) + home.moves[i], swing = Math.sin(2 * Math.PI * (turns % 1));
    const goal = 0.9 * REACH * Math.sign(swing);
    show({ moves: withMoves([[i, place + Math.abs(swing) * (goal - place)]], home).moves, slider: i }, { playing: true });
    playing = requestAnimationFrame(step);
  });
}

function stop() {
  cancelAnimationFrame(playing);
  playing = null;
  document.getElementById("play").textContent = "Play";
}
