// Below the stage: images to start from, a map of two latents, and two images with all that lies between.

"use strict";

const GRID = 7; // pictures along a side of the map
const live = !page.frames;

// Images to start from. Without images of the data, a start is shown as it is decoded.

function setupStarts() {
  fillShelf(document.getElementById("starts"), (start) => show({ start, moves: still(), share: 0 }));
  if (live) fillShelf(document.getElementById("ends"), (end) => show({ end }));
}

function fillShelf(shelf, choose) {
  for (let start = 0; start < starts; start++) {
    const label = page.images.length ? `Image ${start + 1} of the data` : `Code ${start + 1}`;
    const button = element("button", { type: "button", title: label, ariaLabel: label }, startPicture(start));
    button.addEventListener("click", () => choose(start));
    shelf.append(button);
  }
}

function startPicture(start) {
  if (page.images.length) return element("img", { src: page.images[start], alt: "" });
  const canvas = element("canvas");
  paint(0, canvas, { ...state, start, end: start, share: 0, moves: still() });
  return canvas;
}

function paintStarts() {
  mark("starts", state.start);
  if (live) mark("ends", state.end);
  const original = document.getElementById("original");
  if (original) original.src = page.images[state.start];
}

function mark(shelf, chosen) {
  [...document.getElementById(shelf).children].forEach((button, i) => button.setAttribute("aria-pressed", i === chosen));
}

// The map: pictures of a grid of two latents, and a point to drag

const maps = [...document.querySelectorAll(".map")];
let mapKey = "";

function setupMap() {
  ["axis-x", "axis-y"].forEach((id, k) => {
    const choice = document.getElementById(id);
    page.sliders.forEach((slider, i) => choice.append(element("option", { value: i, textContent: slider.title })));
    choice.addEventListener("change", () => {
      const axes = [...state.axes];
      axes[k] = Number(choice.value);
      show({ axes });
    });
  });
  maps.forEach((map) => {
    for (let cell = 0; cell < GRID * GRID; cell++) map.firstElementChild.append(element("canvas"));
    const drag = (event) => {
      const box = map.getBoundingClientRect();
      const across = (event.clientX - box.left) / box.width, down = (event.clientY - box.top) / box.height;
      moveOnMap(mapPlace(across), -mapPlace(down));
    };
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      drag(event);
    });
    map.addEventListener("pointermove", (event) => map.hasPointerCapture(event.pointerId) && drag(event));
    map.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = state.axes.map(position);
      moveOnMap(x + 0.25 * step[0], y + 0.25 * step[1]);
    });
  });
}

// Cells have their pictures in the middle, so that the map reaches half a cell further.
function mapPlace(share) {
  return (REACH * GRID * (2 * share - 1)) / (GRID - 1);
}

function mapShare(place) {
  return (1 + (place * (GRID - 1)) / (REACH * GRID)) / 2;
}

function moveOnMap(x, y) {
  const hold = (place) => Math.max(-REACH, Math.min(REACH, place));
  const [i, j] = state.axes;
  moveSliders(i === j ? [[i, hold(x)]] : [[i, hold(x)], [j, hold(y)]]);
}

function paintMap() {
  const [i, j] = state.axes, [x, y] = state.axes.map(position);
  document.getElementById("axis-x").value = i;
  document.getElementById("axis-y").value = j;
  maps.forEach((map) => {
    map.lastElementChild.style.left = `${100 * mapShare(x)}%`;
    map.lastElementChild.style.top = `${100 * (1 - mapShare(y))}%`;
    map.setAttribute("aria-valuetext", `${page.sliders[i].name} ${spell(x)}, ${page.sliders[j].name} ${spell(y)}`);
  });
  const others = state.moves.map((move, k) => (k === i || k === j ? 0 : move));
  const key = JSON.stringify([state.start, state.end, state.share, i, j, others]);
  if (key === mapKey || playing) return;
  mapKey = key;
  const cells = maps.flatMap((map, m) => [...map.firstElementChild.children].map((canvas, cell) => () => {
    const across = placeOf(cell % GRID, GRID), down = placeOf(Math.floor(cell / GRID), GRID);
    paint(m, canvas, withMoves([[j, -down], [i, across]]));
  }));
  paintLater("map", cells);
}

// Two images: the straight line between their codes, and codes with latents exchanged

let line = [];

function setupPair() {
  const share = document.getElementById("share");
  share.addEventListener("input", () => show({ share: Number(share.value), moves: still() }));
  line = [...document.querySelectorAll(".line")].map((row) => Array.from({ length: COLUMNS }, (_, column) => {
    const canvas = element("canvas");
    const button = element("button", { type: "button", title: `${Math.round((100 * column) / (COLUMNS - 1))} %` }, canvas);
    button.addEventListener("click", () => show({ share: column / (COLUMNS - 1), moves: still() }));
    row.append(button);
    return canvas;
  }));
  const chips = document.getElementById("chips");
  active.forEach((i) => {
    const chip = element("button", { type: "button", textContent: page.sliders[i].title });
    chip.addEventListener("click", () => {
      const exchanged = new Set(state.exchanged);
      if (!exchanged.delete(i)) exchanged.add(i);
      show({ exchanged });
    });
    chips.append(chip);
  });
}

let lineKey = "";

function paintPair() {
  document.getElementById("share").value = state.share;
  document.querySelectorAll(".first-image").forEach((place) => place.replaceChildren(startPicture(state.start)));
  document.querySelectorAll(".second-image").forEach((place) => place.replaceChildren(startPicture(state.end)));
  [...document.getElementById("chips").children].forEach((chip, k) => chip.setAttribute("aria-pressed", state.exchanged.has(active[k])));
  const nearest = Math.round(state.share * (COLUMNS - 1));
  line.flatMap((row) => row.map((canvas, column) => canvas.parentElement.classList.toggle("near", column === nearest)));
  const key = JSON.stringify([state.start, state.end, [...state.exchanged]]);
  if (key === lineKey) return;
  lineKey = key;
  const between = line.flatMap((row, m) => row.map((canvas, column) => () => {
    paint(m, canvas, { ...state, share: column / (COLUMNS - 1), moves: still() });
  }));
  const exchanges = page.models.flatMap((_, m) => [
    () => paint(m, document.querySelectorAll(".first-exchanged")[m], exchangedPoint(state.start, state.end)),
    () => paint(m, document.querySelectorAll(".second-exchanged")[m], exchangedPoint(state.end, state.start)),
  ]);
  paintLater("pair", [...exchanges, ...between]);
}
