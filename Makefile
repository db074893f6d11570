# Each target makes .venv when it is missing and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo gallery notebooks test frameworks clusters sharing torture release-check lint check format bench docs docs-serve clean

demo: .venv/core
	$(BIN)/unknot demo

gallery: .venv/core
	$(BIN)/unknot gallery

# Two workers with one torch thread each, the idle one taking over from the other: the fastest way
# through the suite on two cores. Whole programs, trainings and tables of numbers are tested without
# checks of shapes at every call; other tests call every function of theirs with the checks.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q
NUMBERS := $(addprefix tests/objectives/test_,curves.py l_vae.py vae.py) \
	$(addprefix tests/metrics/test_,aggregate_posterior.py beta_vae.py boosting.py dci.py \
	distances_datasets.py docs.py efficiency.py explicitness.py factor_vae.py golden.py infomec.py \
	peer_defects.py representations.py)
PROGRAMS := tests/api tests/cli tests/docs tests/fuzz tests/report tests/runs tests/sharing tests/studies tests/torture $(NUMBERS)

test: .venv/dev
	$(PYTEST) --durations=10 $(addprefix --ignore=,$(PROGRAMS))
	UNKNOT_SHAPES=0 $(PYTEST) --durations=10 $(PROGRAMS)

# What `test` skips for want of packages: loops of Lightning and Accelerate.
frameworks: .venv/dev
	$(PIP) -e '.[lightning]' accelerate
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/api/test_lightning.py tests/api/test_accelerate.py

# What `test` skips for want of packages: studies on Ray and SLURM, and exports to trackers.
clusters: .venv/dev
	$(PIP) -e '.[ray,slurm,parquet,tensorboard,wandb,mlflow]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/studies/test_ray.py tests/studies/test_slurm.py \
		tests/studies/test_tracking.py tests/cli/study/test_clusters.py

# The same of exported models: ONNX files, and a hub on this machine.
sharing: .venv/dev
	$(PIP) -e '.[onnx,hub]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/sharing

# Kills, flipped bits, full disks, signals, bad inputs and fuzzing for an hour, then one table of what held.
MINUTES ?= 60
torture: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/torture/run.py --minutes $(MINUTES)

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(PYTEST) -m "not slow" $(addprefix --ignore=,$(PROGRAMS))
	UNKNOT_SHAPES=0 $(PYTEST) -m "not slow" $(PROGRAMS)

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/core
	$(BIN)/python bench/cpu.py

# Lessons and examples with their outputs, in build/notebooks, for the site; those that are there stay.
notebooks: .venv/docs
	$(BIN)/python tools/notebooks.py

# The documentation as a site in build/site; docs-serve shows it on this machine alone.
PORT ?= 8000
docs: .venv/docs
	$(BIN)/python tools/website.py

docs-serve: .venv/docs
	$(BIN)/python tools/website.py --serve $(PORT)

# What a release would publish: built twice, installed alone, and used. OPTIONS=--without-address
# builds while the repository has no public address.
release-check: .venv/bin/python
	$(BIN)/python tools/release.py $(OPTIONS)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "unknot needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing unknot into .venv (about a minute) ..."
	$(PIP) -e .
	@touch $@

.venv/dev: .venv/core
	$(PIP) -e '.[dev]'
	@touch $@

# For tests that open pages in a browser; they need chromium as well, and are skipped without.
.venv/browser: .venv/dev
	$(PIP) -e '.[browser]'
	@touch $@

.venv/docs: .venv/core
	$(PIP) -e '.[docs]'
	@touch $@
