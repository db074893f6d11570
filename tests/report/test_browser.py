"""The page in a real browser: nothing missing, nothing broken, and it fits every window."""

import itertools

import numpy as np
import pytest

from unknot.core.csv_files import csv_text
from unknot.report.study import page as study_page

pytestmark = pytest.mark.slow
DESKTOP, LAPTOP, TABLET, PHONE = (1280, 900), (1200, 900), (800, 900), (390, 844)
TABLE = "#configurations > .wide table"


def table():
    """Two objectives of three strengths and three seeds; one cell has no mig."""
    rng = np.random.default_rng(0)
    rows = []
    for (name, shift), beta, seed in itertools.product(
        (("beta_vae", 0.0), ("beta_tcvae", 0.05)), (1, 4, 16), range(3)
    ):
        noise = rng.normal(size=3)
        rows.append(
            {
                "id": f"run-{len(rows)}",
                "objective": name,
                "objective.beta": beta,
                "seed": seed,
                "steps": 1000,
                "mig": 0.1 + 0.01 * beta + shift + 0.01 * noise[0],
                "sap": 0.05 + 0.02 * noise[1],
                "recon": 20.0 + beta + noise[2],
                "kl": 20.0 - beta,
            }
        )
    for row in rows[:3]:
        row["mig"] = None
    return rows


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    (folder / "table.csv").write_text(csv_text(table()))
    study_page.report(folder / "table.csv", folder / "page")
    return folder / "page" / "index.html"


@pytest.fixture(
    params=[DESKTOP, LAPTOP, TABLET, PHONE], ids=["desktop", "laptop", "tablet", "phone"]
)
def page(request, browser, page_file):
    """The page, opened from the disk without a network, and what the browser complained of."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    opened = context.new_page()
    opened.complaints = []
    opened.on(
        "console",
        lambda said: (
            opened.complaints.append(said.text) if said.type in ("error", "warning") else None
        ),
    )
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("requestfailed", lambda request: opened.complaints.append(request.url[:80]))
    opened.goto(page_file.as_uri())
    yield opened
    context.close()


def column(page, n):
    """Sort keys of a column of the table of settings, from top to bottom."""
    return page.eval_on_selector_all(
        f"{TABLE} tbody tr td:nth-child({n})", "cells => cells.map(c => c.dataset.key)"
    )


def head(page, name):
    return page.locator(f"{TABLE} thead th").filter(has_text=name).first


def test_nothing_is_missing_and_nothing_complains(page):
    assert page.evaluate("document.images.length") > 5
    broken = "[...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).length"
    assert page.evaluate(broken) == 0
    assert page.complaints == []


def test_it_does_not_scroll_sideways(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.viewport_size["width"]


STICKING_OUT = """
() => [...document.querySelectorAll("figure, img, table, .wide, section, details, p, ul, h2, h3")]
  .filter((e) => {
    const own = e.getBoundingClientRect(), around = e.parentElement.getBoundingClientRect();
    const scrolls = getComputedStyle(e.parentElement).overflowX !== "visible";
    return own.width && !scrolls && (own.left < around.left - 1 || own.right > around.right + 1);
  })
  .map((e) => `${e.tagName} of ${e.parentElement.tagName} in ${e.closest("section")?.id}`)
"""


def test_nothing_sticks_out_of_what_is_around_it(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(STICKING_OUT) == []
    figures = page.evaluate(
        "[...document.querySelectorAll('figure .wide')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert figures
    if page.viewport_size["width"] > PHONE[0]:
        assert max(figures) <= 1, "but for a phone, figures are seen whole"


def test_a_click_sorts_and_another_turns_round(page):
    before = column(page, 3)
    button = head(page, "mig").locator("button")
    button.click()
    down = column(page, 3)
    known = [float(key) for key in down if key]
    assert known == sorted(known, reverse=True), "of numbers the largest first"
    assert down[-1] == "", "what is missing goes last"
    assert sorted(before) == sorted(down)
    assert head(page, "mig").get_attribute("aria-sort") == "descending"
    button.click()
    up = column(page, 3)
    assert [float(key) for key in up if key] == sorted(known)
    assert up[-1] == "", "what is missing goes last either way"
    assert head(page, "mig").get_attribute("aria-sort") == "ascending"


def test_keys_sort_too(page):
    button = head(page, "configuration").locator("button")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert head(page, "configuration").get_attribute("aria-sort") == "descending"
    assert column(page, 1) == sorted(column(page, 1), reverse=True)


def test_rows_stay_whole_when_sorted(page):
    def rows():
        return page.eval_on_selector_all(f"{TABLE} tbody tr", "rows => rows.map(r => r.innerText)")

    before = rows()
    head(page, "sap").locator("button").click()
    assert sorted(rows()) == sorted(before)


def test_contents_lead_to_their_places(page):
    links = page.locator("nav a").all()
    assert links
    for link in links:
        target = link.get_attribute("href")
        assert page.locator(f"[id='{target[1:]}']").count() == 1


def test_a_link_opens_the_section_it_leads_to(page):
    fold = page.locator("details.fold").first
    assert not fold.evaluate("fold => fold.open")
    title = fold.locator("summary h2").inner_text()
    page.locator("nav a").get_by_text(title, exact=True).click()
    page.wait_for_function("() => document.querySelector('details.fold').open")
    assert fold.locator("p").first.is_visible()


def test_every_picture_has_words(page):
    assert page.evaluate("[...document.images].every(i => i.alt.length > 0)")
