// Show a state, keep it in the address, and start.

"use strict";

let waiting = false;

function show(changes, { playing: whilePlaying = false } = {}) {
  if (playing && !whilePlaying) stop();
  Object.assign(state, changes);
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paintAll();
    if (!playing) history.replaceState(null, "", toHash());
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
function link() {
  const { protocol, href, pathname } = location;
  const name = decodeURIComponent(pathname.split("/").pop());
  return protocol === "file:" ? name + toHash() : href.split("#")[0] + toHash();
}

function copyLink() {
  const field = document.getElementById("link");
  field.hidden = false;
  field.value = link();
  field.select();
  const done = () => { document.getElementById("copy").textContent = "Copied"; };
  if (navigator.clipboard) navigator.clipboard.writeText(field.value).then(done, () => document.execCommand("copy") && done());
  else if (document.execCommand("copy")) done();
  setTimeout(() => { document.getElementById("copy").textContent = "Copy link"; }, 2000);
}

fromHash(location.hash);
state.slider = active[0] ?? 0;
state.axes = [active[0] ?? 0, active[1] ?? state.axes[1]];
setupStage();
setupStarts();
if (live) {
  setupMap();
  setupPair();
}
document.getElementById("copy").addEventListener("click", copyLink);
window.addEventListener("hashchange", () => {
  fromHash(location.hash);
  show({});
});
paintAll();
