"""Tables of studies, their pages, and what is on them."""

import csv
import html.parser
import itertools
import re

import numpy as np

from unknot.core.csv_files import csv_text
from unknot.report.study import page as study_page

OBJECTIVES = {"beta_vae": "beta", "dip_vae_i": "lambda_od"}
STRENGTHS = (1.0, 4.0, 16.0)


def study(
    seeds, *, data="dsprites", shift=0.0, objectives=OBJECTIVES, strengths=STRENGTHS
):  # fmt: skip
    """Settings with scores that grow and losses that grow faster; the last run diverged."""
    rng = np.random.default_rng(0)
    rows = []
    for (i, (name, axis)), (k, strength), seed in itertools.product(
        enumerate(objectives.items()), enumerate(strengths), range(seeds)
    ):
        noise = rng.normal(size=4)
        rows.append(
            {
                "id": f"{data}-{len(rows)}",
                "data": data,
                "objective": name,
                f"objective.{axis}": strength,
                "seed": seed,
                "status": "done",
                "mig": 0.1 + 0.05 * k + 0.02 * i + 0.02 * noise[0] + shift,
                "dci.disentanglement": 0.2 + 0.04 * k + 0.03 * noise[1],
                "recon": 20 * 1.4**k + 2 * i + noise[2],
                "kl": 40 / 1.3**k + i + 0.3 * noise[3],
            }
        )
    rows[-1] |= {"status": "diverged", "mig": 1e6, "kl": 1e6}
    return rows


class Page(html.parser.HTMLParser):
    """What a page refers to, and its words."""

    def __init__(self, text):
        super().__init__()
        self.images, self.links, self.ids, self.words, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.open.append(tag)
        if tag == "img":
            self.images.append(own)
        if "href" in own:
            self.links.append(own["href"])
        if "id" in own:
            self.ids.append(own["id"])
        assert "src" not in own or own["src"].startswith("data:image/"), "needs no other file"

    def handle_endtag(self, tag):
        self.open.append(f"/{tag}")

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def write(table, folder, scores=None, **options):
    """The page of a table, from a CSV file as people have them."""
    file = folder / "table.csv"
    file.write_text(csv_text(table))
    out = folder / "page"
    study_page.report(file, out, scores=scores, **options)
    return Page((out / "index.html").read_text()), out


def rows(out, name):
    with (out / "figures" / f"{name}.csv").open() as opened:
        return list(csv.DictReader(opened))


def one_cell(n=1, **more):
    return [{"objective": "vae", "seed": i, "mig": 0.1 * (i + 1), **more} for i in range(n)]
