"""The explorer in a real browser: sliders, images, map, exchange, link, keys, touch and windows."""

import numpy as np
import pytest
import torch

from unknot import nets
from unknot.report.explorer.model import explorer_model
from unknot.report.sheet import pixels

pytestmark = pytest.mark.slow
SHAPE = (3, 8, 10)
PIXELS = """
(selector) => [...document.querySelectorAll(selector)].map((canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  return [...copy.getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 < 3);
})
"""
SETTLED = "() => !waiting && !playing && [...queues.values()].every((jobs) => !jobs.length)"
PAINTED = """
() => {
  const copy = new OffscreenCanvas(1, 1).getContext("2d");
  copy.drawImage(screens[0], 0, 0);
  return copy.getImageData(0, 0, 1, 1).data[3] > 0;
}
"""
STICKING_OUT = """
() => [...document.querySelectorAll("body *")].filter((e) => {
  const box = e.getBoundingClientRect();
  const inside = e.closest("details:not([open]) > :not(summary), .buttons, script, [hidden]");
  return box.width && !inside && (box.left < -1 || box.right > innerWidth + 1);
}).map((e) => `${e.tagName}.${e.className}`)
"""


@pytest.fixture
def run(make_model):
    return make_model(nets.MLP(latents=4, hidden=(16,)), SHAPE)


@pytest.fixture
def other(make_model):
    return make_model(nets.MLP(latents=3, hidden=(8,)), SHAPE)


def painted(page, selector):
    """Pixels of canvases, ``[n, h, w, 3]``, when nothing is left to be painted."""
    page.wait_for_function(SETTLED)
    return np.array(page.evaluate(PIXELS, selector)).reshape(-1, SHAPE[1], SHAPE[2], 3)


def decoded(run, *codes):
    return pixels(run.dataset, run.decode(torch.tensor(np.array(codes)).float())).astype(int)


def state_of(page):
    return page.evaluate("() => ({...state, sliders: page.sliders, models: page.models})")


def test_a_slider_moves_the_picture_as_torch_says(run, open_page):
    page, latents = open_page(run), explorer_model(run).latents
    z = latents.order[1]
    start = np.array(state_of(page)["models"][0]["codes"][0])
    assert np.abs(painted(page, ".screen canvas") - decoded(run, start)).max() <= 1
    slider = page.locator(".slider input").nth(1)
    slider.fill("1.5")
    moved = start.copy()
    moved[z] = latents.mean[z] + 1.5 * latents.sd[z]
    shown = painted(page, ".screen canvas")
    assert np.abs(shown - decoded(run, moved)).max() <= 1
    assert np.abs(shown - decoded(run, start)).max() > 3, "something moved"
    places = latents.mean[z] + np.linspace(-2, 2, 9) * latents.sd[z]
    row = [np.where(np.arange(4) == z, place, start) for place in places]
    assert np.abs(painted(page, ".strip canvas") - decoded(run, *row)).max() <= 1
    slider.press("ArrowRight")
    page.wait_for_function(SETTLED)
    assert state_of(page)["moves"][1] == pytest.approx(
        1.51 - (start[z] - latents.mean[z]) / latents.sd[z], abs=0.01
    )
    page.get_by_role("button", name="Reset").click()
    assert np.abs(painted(page, ".screen canvas") - decoded(run, start)).max() <= 1


def test_images_interpolation_and_exchange(run, open_page):
    page = open_page(run)
    codes = np.array(state_of(page)["models"][0]["codes"])
    page.locator("#starts button").nth(2).click()
    page.locator("#ends button").nth(5).click()
    line = [codes[2] + share * (codes[5] - codes[2]) for share in np.linspace(0, 1, 9)]
    assert np.abs(painted(page, ".line canvas") - decoded(run, *line)).max() <= 1
    page.locator(".line button").nth(4).click()
    assert np.abs(painted(page, ".screen canvas") - decoded(run, line[4])).max() <= 1
    for chip in page.locator("#chips [aria-pressed=true]").all():
        chip.click()
    page.locator("#chips button").nth(1).click()
    z = explorer_model(run).latents.order[1]
    first, second = codes[2].copy(), codes[5].copy()
    first[z], second[z] = codes[5][z], codes[2][z]
    assert np.abs(painted(page, ".first-exchanged") - decoded(run, first)).max() <= 1
    assert np.abs(painted(page, ".second-exchanged") - decoded(run, second)).max() <= 1


def test_the_map_moves_two_latents_by_drag_and_by_keys(run, open_page):
    page = open_page(run)
    map_ = page.locator(".map")
    map_.scroll_into_view_if_needed()
    box = map_.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 13 / 14, box["y"] + box["height"] / 14, steps=3)
    page.mouse.up()
    page.wait_for_function(SETTLED)
    places = page.evaluate("() => state.axes.map(position)")
    assert places == pytest.approx([2, 2], abs=0.05)
    corner = painted(page, ".cells canvas")[6]
    assert np.abs(corner - painted(page, ".screen canvas")[0]).max() <= 4
    map_.press("ArrowLeft")
    page.wait_for_function(SETTLED)
    assert page.evaluate("() => state.axes.map(position)") == pytest.approx([1.75, 2], abs=0.05)


def test_two_models_move_under_one_slider_each_from_its_own_code(run, other, open_page):
    page = open_page(run, other)
    state = state_of(page)
    slider = state["sliders"][0]
    a, b = slider["latents"]
    before = [np.array(model["codes"][0]) for model in state["models"]]
    page.locator(".slider input").first.fill("1")
    move = page.evaluate("() => state.moves[0]")
    after = [code.copy() for code in before]
    after[0][a] += move * state["models"][0]["sd"][a]
    after[1][b] += slider["signs"][1] * move * state["models"][1]["sd"][b]
    shown = painted(page, ".screen canvas")
    assert np.abs(shown[0] - decoded(run, after[0])).max() <= 1
    assert np.abs(shown[1] - decoded(other, after[1])).max() <= 1
    # An exchange takes the code of each model, not that of the first.
    ends = [np.array(model["codes"][state["end"]]) for model in state["models"]]
    before[1][b] = ends[1][b]
    shown = painted(page, ".first-exchanged")
    assert np.abs(shown[1] - decoded(other, before[1])).max() <= 1


def test_a_link_leads_to_the_same_state_and_holds_no_folder(run, open_page, tmp_path):
    page = open_page(run)
    page.locator("#starts button").nth(3).click()
    page.locator(".slider input").first.fill("1.25")
    picture = painted(page, ".screen canvas")
    page.get_by_role("button", name="Copy link").click()
    link = page.locator("#link").input_value()
    assert link.startswith("explorer-0.html#start=3")
    assert str(tmp_path) not in link
    page.goto("about:blank")
    page.goto((tmp_path / link.partition("#")[0]).as_uri() + "#" + link.partition("#")[2])
    assert np.abs(painted(page, ".screen canvas") - picture).max() <= 1
    page.goto(page.url.partition("#")[0] + "#start=999&share=x&z0=Infinity&exchange=q&map=z0,,")
    assert np.isfinite(painted(page, ".screen canvas")).all(), "nonsense is taken for nothing"


def test_frames_show_what_the_decoder_gives(run, open_page):
    page, latents = open_page(run, form="frames"), explorer_model(run).latents
    start = np.array(state_of(page)["models"][0]["codes"][0])
    page.wait_for_function(PAINTED)
    assert np.abs(painted(page, ".screen canvas") - decoded(run, start)).max() <= 1
    z, moved = latents.order[0], start.copy()
    page.locator(".slider input").first.fill("1.8")
    moved[z] = latents.mean[z] + 1.8 * latents.sd[z]
    assert np.abs(painted(page, ".screen canvas") - decoded(run, moved)).max() <= 1
    page.locator(".slider input").nth(1).fill("-3")
    assert state_of(page)["moves"][0] == 0, "one latent at a time"
    assert page.locator(".map, #ends").count() == 0


def test_it_plays_by_itself_until_touched(run, open_page):
    page = open_page(run, motion="no-preference")
    page.wait_for_function("() => Math.abs(state.moves[0]) > 0.3")
    page.locator(".slider input").nth(2).fill("0.5")
    page.wait_for_function(SETTLED)
    assert page.evaluate("() => playing") is None


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("models", [1, 2])
def test_it_fits_the_window(run, other, open_page, width, models):
    page = open_page(*(run, other)[:models], width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_function(SETTLED)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(STICKING_OUT) == []


def test_a_finger_moves_a_slider(run, open_page):
    page = open_page(run, width=390, touch=True)
    box = page.locator(".slider input").nth(1).bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    page.wait_for_function("() => position(1) > 1")


def test_a_finger_on_the_map_drags_the_point_and_not_the_page(run, open_page):
    page = open_page(run, width=390, touch=True)
    map_ = page.locator(".map")
    map_.scroll_into_view_if_needed()
    box, scrolled = map_.bounding_box(), page.evaluate("scrollY")
    fingers = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0.5), *(("touchMove", 0.5 + n / 14) for n in range(1, 7))):
        point = {"x": box["x"] + share * box["width"], "y": box["y"] + (1 - share) * box["height"]}
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(SETTLED)
    assert page.evaluate("() => state.axes.map(position)") == pytest.approx([2, 2], abs=0.05)
    assert page.evaluate("scrollY") == scrolled
