// Below the stage: images to start from, a map of two latents, and two images with all that lies between.

// Images to start from. Without images of the data, a start is shown as it is decoded.

function setupStarts() {
  fillShelf(document.getElementById("starts"), (start) => show({ start, moves: still(), share: 0 }));
  if (live) fillShelf(document.getElementById("ends"), (end) => show({ end }));
}

function fillShelf(shelf, choose) {
  for (let start = 0; start < starts; start++) {
    const label = page.images.length ? `Image ${start + 1}` : `Code ${start + 1}`;
    const button = element("button", { type: "button", title: label, ariaLabel: label }, startPicture(start));
    button.addEventListener("click", () => choose(start));
    shelf.append(button);
  }
}

function startPicture(start) {
  if (page.images.length) return element("img", { src: page.images[start], alt: "" });
  const canvas = element("canvas");
  paint(0, canvas, pointOf(start));
  return canvas;
}

function paintStarts() {
  markChosen("starts", state.start);
  if (live) markChosen("ends", state.end);
  const original = document.getElementById("original");
  if (original) original.src = page.images[state.start];
}

function markChosen(shelf, start) {
  [...document.getElementById(shelf).children].forEach((button, i) => button.setAttribute("aria-pressed", i === start));
}

// The map: pictures of a grid of two latents, and a point to drag

const GRID = 7; // pictures along a side
const maps = [...document.querySelectorAll(".map")];
const choices = [...document.querySelectorAll(".axes select")];
let mapKey = "";

function setupMap() {
  choices.forEach((choice, k) => {
    page.sliders.forEach((slider, i) => choice.append(element("option", { value: i, textContent: slider.title })));
    choice.addEventListener("change", () => show({ axes: state.axes.map((axis, n) => (n === k ? Number(choice.value) : axis)) }));
  });
  maps.forEach((map) => {
    for (let cell = 0; cell < GRID * GRID; cell++) map.firstElementChild.append(element("canvas"));
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      dragOnMap(map, event);
    });
    map.addEventListener("pointermove", (event) => map.hasPointerCapture(event.pointerId) && dragOnMap(map, event));
    map.addEventListener("keydown", stepOnMap);
  });
}

function dragOnMap(map, event) {
  const box = map.getBoundingClientRect();
  moveOnMap(mapPlace((event.clientX - box.left) / box.width), -mapPlace((event.clientY - box.top) / box.height));
}

function stepOnMap(event) {
  const step = { ArrowLeft: [-0.25, 0], ArrowRight: [0.25, 0], ArrowUp: [0, 0.25], ArrowDown: [0, -0.25] }[event.key];
  if (!step) return;
  event.preventDefault();
  const [x, y] = state.axes.map(position);
  moveOnMap(x + step[0], y + step[1]);
}

// Cells have their pictures in the middle, so that the map reaches half a cell further.
function mapPlace(share) {
  return (SPAN * GRID * (2 * share - 1)) / (GRID - 1);
}

function mapShare(place) {
  return (1 + (limit(place, SPAN) * (GRID - 1)) / (SPAN * GRID)) / 2;
}

function moveOnMap(x, y) {
  const [i, j] = state.axes;
  moveSliders(i === j ? [[i, limit(x, SPAN)]] : [[i, limit(x, SPAN)], [j, limit(y, SPAN)]]);
}

function paintMap() {
  const [i, j] = state.axes, [x, y] = state.axes.map(position);
  choices.forEach((choice, k) => { choice.value = state.axes[k]; });
  maps.forEach((map) => {
    map.lastElementChild.style.left = `${100 * mapShare(x)}%`;
    map.lastElementChild.style.top = `${100 * (1 - mapShare(y))}%`;
    map.setAttribute("aria-valuetext", `${page.sliders[i].name} ${spell(x)}, ${page.sliders[j].name} ${spell(y)}`);
  });
  const { start, end, share } = state;
  const key = JSON.stringify([start, end, share, i, j, withMoves([[i, 0], [j, 0]]).moves]);
  if (key === mapKey || playing) return;
  mapKey = key;
  paintLater("map", maps.flatMap((map, m) => [...map.firstElementChild.children].map((canvas, cell) => () => {
    const across = placeOf(cell % GRID, GRID), down = placeOf(Math.floor(cell / GRID), GRID);
    paint(m, canvas, withMoves([[j, -down], [i, across]]));
  })));
}

// Two images: the straight line between their codes, and codes with latents exchanged

const shareInput = document.getElementById("share");
let lines = [];
let pairKey = "";

function setupPair() {
  shareInput.addEventListener("input", () => show({ share: Number(shareInput.value), moves: still() }));
  const percent = (column) => `${Math.round((100 * column) / (COLUMNS - 1))} %`;
  const choose = (column) => show({ share: column / (COLUMNS - 1), moves: still() });
  lines = [...document.querySelectorAll(".line")].map((row) => fillRow(row, choose, percent));
  active.forEach((i) => {
    const chip = element("button", { type: "button", textContent: page.sliders[i].title });
    chip.addEventListener("click", () => {
      const exchanged = new Set(state.exchanged);
      if (!exchanged.delete(i)) exchanged.add(i);
      show({ exchanged });
    });
    document.getElementById("chips").append(chip);
  });
}

function paintPair() {
  shareInput.value = state.share;
  lines.forEach((row) => markNearest(row, Math.round(state.share * (COLUMNS - 1))));
  const key = JSON.stringify([state.start, state.end, [...state.exchanged]]);
  if (key === pairKey) return;
  pairKey = key;
  const put = (places, start) => document.querySelectorAll(places).forEach((place) => place.replaceChildren(startPicture(start)));
  put(".first-image", state.start);
  put(".second-image", state.end);
  [...document.getElementById("chips").children].forEach((chip, k) => chip.setAttribute("aria-pressed", state.exchanged.has(active[k])));
  const between = lines.flatMap((row, m) => row.map((canvas, column) => () => {
    paint(m, canvas, { ...state, share: column / (COLUMNS - 1), moves: still() });
  }));
  const exchanges = page.models.flatMap((_, m) => [
    () => paint(m, document.querySelectorAll(".first-exchanged")[m], exchangedPoint(state.start, state.end)),
    () => paint(m, document.querySelectorAll(".second-exchanged")[m], exchangedPoint(state.end, state.start)),
  ]);
  paintLater("pair", [...exchanges, ...between]);
}
