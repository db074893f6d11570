// The stage: the picture of each model, the row of pictures below it, the sliders, and play.

const COLUMNS = live ? 9 : page.models[0].frames.stops;
const PERIOD = 4000; // milliseconds that play spends on a slider

const screens = [...document.querySelectorAll(".screen canvas")];
const inputs = [...document.querySelectorAll(".slider input")];
const playButton = document.getElementById("play");
let strips = [];
let stripKey = "";

function placeOf(column, columns = COLUMNS) {
  return SPAN * ((2 * column) / (columns - 1) - 1);
}

function spell(value) {
  return (value > 0.05 ? "+" : "") + value.toFixed(1).replace("-", "−").replace("−0.0", "0.0");
}

function limit(place, reach = REACH) {
  return Math.max(-reach, Math.min(reach, place));
}

function setupStage() {
  inputs.forEach((input, i) => {
    input.addEventListener("input", () => moveSliders([[i, Number(input.value)]]));
    input.addEventListener("focus", () => chooseSlider(i));
    input.closest(".slider").addEventListener("pointerdown", () => chooseSlider(i));
  });
  strips = [...document.querySelectorAll(".strip")].map((row) => fillRow(row, (column) => {
    moveSliders([[state.slider, placeOf(column)]]);
  }, (column) => `${spell(placeOf(column))} σ`));
  document.getElementById("reset").addEventListener("click", () => {
    show({ moves: still(), share: 0, exchanged: new Set(active.slice(0, 1)) });
  });
  document.getElementById("random").addEventListener("click", moveAtRandom);
  playButton.addEventListener("click", () => (playing ? stopPlaying() : startPlaying()));
}

// A row of small pictures to click; gives their canvases.
function fillRow(row, choose, name) {
  return Array.from({ length: COLUMNS }, (_, column) => {
    const canvas = element("canvas");
    const button = element("button", { type: "button", title: name(column) }, canvas);
    button.addEventListener("click", () => choose(column));
    row.append(button);
    return canvas;
  });
}

function markNearest(row, column) {
  row.forEach((canvas, k) => canvas.parentElement.classList.toggle("near", k === column));
}

function moveSliders(changes) {
  if (changes.length === 1) state.slider = changes[0][0];
  show({ moves: withMoves(changes).moves });
}

function chooseSlider(i) {
  if (state.slider !== i) show({ slider: i });
}

function moveAtRandom() {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const some = live ? active : [active[Math.floor(Math.random() * active.length)]];
  show({ moves: withMoves(some.map((i) => [i, limit(normal())])).moves, slider: live ? state.slider : some[0] });
}

function paintStage() {
  screens.forEach((canvas, m) => paint(m, canvas, state));
  inputs.forEach((input, i) => {
    const place = position(i), reach = live ? Math.max(REACH, Math.abs(place)) : REACH;
    input.min = -reach;
    input.max = reach;
    input.value = place;
    input.setAttribute("aria-valuetext", `${spell(place)} standard deviations`);
    const row = input.closest(".slider");
    row.querySelector("output").textContent = `${spell(place)} σ`;
    row.classList.toggle("chosen", i === state.slider);
  });
}

function paintStrip() {
  const { slider, start, end, share } = state;
  const nearest = Math.round(((position(slider) + SPAN) / (2 * SPAN)) * (COLUMNS - 1));
  strips.forEach((row) => markNearest(row, nearest));
  const key = JSON.stringify([slider, start, end, share, withMoves([[slider, 0]]).moves]);
  if (key === stripKey) return;
  stripKey = key;
  document.getElementById("strip-name").textContent = page.sliders[slider].title;
  paintLater("strip", strips.flatMap((row, m) => row.map((canvas, column) => () => {
    paint(m, canvas, withMoves([[slider, placeOf(column)]]));
  })));
}

// Play: one active slider after the other goes up, down and home, until all have.

let playing = null;

function startPlaying() {
  const home = { ...state }, first = Math.max(0, active.indexOf(state.slider));
  let begin = null;
  playButton.textContent = "Stop";
  playing = requestAnimationFrame(function step(now) {
    begin ??= now;
    const turns = (now - begin) / PERIOD, i = active[(first + Math.floor(turns)) % active.length];
    if (turns >= active.length) {
      stopPlaying();
      show(home);
      return;
    }
    const place = basePosition(i) + home.moves[i], swing = Math.sin(2 * Math.PI * (turns % 1));
    const goal = SPAN * Math.sign(swing);
    playing = requestAnimationFrame(step);
    show({ moves: withMoves([[i, place + Math.abs(swing) * (goal - place)]], home).moves, slider: i }, { fromPlay: true });
  });
}

function stopPlaying() {
  cancelAnimationFrame(playing);
  playing = null;
  playButton.textContent = "Play";
}
