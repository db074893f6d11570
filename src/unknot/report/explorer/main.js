// Show a state, keep it in the address, and start.

const QUIET = 300; // milliseconds without a change before the address follows
let waiting = false;
let timer = 0;

function show(changes, { fromPlay = false } = {}) {
  if (playing && !fromPlay) stopPlaying();
  Object.assign(state, changes);
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paintAll();
    clearTimeout(timer);
    if (!playing) timer = setTimeout(() => history.replaceState(null, "", toHash()), QUIET);
  });
}

function paintAll() {
  paintStage();
  paintStarts();
  paintStrip();
  if (!live) return;
  paintPair();
  paintMap();
}

// From the disk only the file's name: folders are nobody's business.
function linkToState() {
  const { protocol, href, pathname } = location;
  const name = decodeURIComponent(pathname.split("/").pop());
  return protocol === "file:" ? name + toHash() : href.split("#")[0] + toHash();
}

async function copyLink() {
  const field = document.getElementById("link"), button = document.getElementById("copy");
  field.hidden = false;
  field.value = linkToState();
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl-C"; // the field is selected
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
}

function begin() {
  fromHash(location.hash);
  setupStage();
  setupStarts();
  if (live) {
    setupMap();
    setupPair();
  }
  document.getElementById("copy").addEventListener("click", copyLink);
  document.addEventListener("pointerdown", (event) => playing && event.target !== playButton && stopPlaying());
  window.addEventListener("hashchange", () => {
    fromHash(location.hash);
    show({});
  });
  paintAll();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!location.hash && !calm && active.length) startPlaying();
}

begin();
