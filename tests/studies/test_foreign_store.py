"""Records of a study from somewhere else, or damaged: one line, whatever is in them."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from unknot.core.errors import StoreError
from unknot.studies.execute import driver
from unknot.studies.study import Study

ENDLESS = """
DROP TABLE {0};
CREATE VIEW {0} AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i AS name, i AS value, i AS run, i AS measure, i AS remark FROM n;
"""
TRIGGER = """
CREATE TRIGGER t AFTER UPDATE ON populations BEGIN UPDATE facts SET value = 'x'; END;
"""
ORIGINS = """
UPDATE configurations SET spec = json_set(spec, '$.origins', json('{}')) WHERE number = 1
"""
DAMAGE = {
    "a name that leads out": "UPDATE populations SET key = '../../../../EVIL' "
    "WHERE position = 0; UPDATE plan SET population = '../../../../EVIL' WHERE position = 0",
    "an absolute name": "UPDATE populations SET key = '/EVIL' WHERE position = 0",
    "an endless view of facts": ENDLESS.format("facts"),
    "an endless view of scores": ENDLESS.format("scores"),
    "a trigger": TRIGGER,
    "another table": "CREATE TABLE more (x)",
    "a missing table": "DROP TABLE measures",
    "a missing column": "ALTER TABLE scores DROP COLUMN remark",
    "no facts": "DELETE FROM facts WHERE name <> 'text' AND name <> 'format'",
    "no format": "DELETE FROM facts",
    "metrics of no JSON": "UPDATE facts SET value = '[\"mig' WHERE name = 'metrics'",
    "metrics of numbers": "UPDATE facts SET value = '[1]' WHERE name = 'metrics'",
    "a seed in words": "UPDATE facts SET value = 'one' WHERE name = 'score_seed'",
    "omissions in words": 'UPDATE facts SET value = \'{"cars3d": "many"}\' '
    "WHERE name = 'omissions'",
    "threads in words": "UPDATE facts SET value = 'many' WHERE name = 'threads'",
    "an empty plan": "DELETE FROM scores; DELETE FROM runs; DELETE FROM plan; "
    "DELETE FROM populations",
    "a plan without populations": "DELETE FROM populations",
    "populations without a plan": "DELETE FROM plan",
    "no current run": "UPDATE plan SET current = 0",
    "settings of no JSON": "UPDATE configurations SET spec = '{' WHERE number = 1",
    "settings that are a list": "UPDATE configurations SET spec = '[]' WHERE number = 1",
    "origins that are a text": ORIGINS.format('"x"'),
    "no origins": ORIGINS.format("[]"),
    "origins without a formula": ORIGINS.format('[{"setting": "optim.lr"}]'),
    "an origin of no run": ORIGINS.format(
        '[{"setting": "optim.lr", "formula": "= 1", "source": "../.."}]'
    ),
    "no settings": "DELETE FROM configurations",
    "a status of no name": "UPDATE populations SET status = 'lost'",
    "steps in words": "UPDATE populations SET steps = 'many'",
    "members without end": "UPDATE populations SET members = 4611686018427387904",
    "a member twice": "UPDATE plan SET member = 0",
    "a text of other bytes": "UPDATE runs SET last = CAST(x'7BFF7D' AS TEXT)",
    "last values of no JSON": "UPDATE runs SET last = 'x'",
    "last values in words": 'UPDATE runs SET last = \'{"loss": "low"}\'',
    "a run that ended otherwise": "UPDATE runs SET status = 'perhaps'",
    "scores of no run": "UPDATE scores SET run = replace(run, substr(run, 1, 2), 'zz')",
    "scores of no measure": "DELETE FROM measures",
    "scores in words": "UPDATE scores SET value = 'good'",
    "options of no JSON": "UPDATE measures SET options = ''",
    "options without end": f"UPDATE measures SET options = '{'[' * 10_000}'",
    "settings of 5,000 digits": f"UPDATE configurations SET spec = '{{\"steps\": {'9' * 5_000}}}' "
    "WHERE number = 1",
}


@pytest.fixture
def study(undisturbed, tmp_path):
    return shutil.copytree(undisturbed, tmp_path / "here" / "study")


@pytest.mark.parametrize("damage", DAMAGE)
def test_records_that_are_not_ours_are_refused_in_one_line(study, tmp_path, damage):
    with closing(sqlite3.connect(study / "study.db")) as db:
        db.executescript(DAMAGE[damage])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=r"study\.db is damaged: .*unknot check") as said:
        Study.open(study)
    assert "\n" not in str(said.value)
    assert sorted(tmp_path.rglob("*")) == before


def read_curves(study):
    opened = Study.open(study)
    for row in opened.table():
        opened.curves(row["id"])


@pytest.mark.parametrize("where", ["populations", "populations/KEY", "study.db", "study.toml"])
def test_a_link_in_a_study_folder_is_refused(study, tmp_path, where):
    key = next((study / "populations").iterdir()).name
    place = study / where.replace("KEY", key)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        read_curves(study)
    if where != "populations/KEY":  # which nothing is left to do in
        with pytest.raises(StoreError, match="is a link"):
            driver.run(study, device="cpu", workers=1)
