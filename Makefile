# make demo   build the environment, ingest the shipped sample and show what Headway answers
# make test   build what is needed, check format, lint and types, run every test
# make fuzz   compare the models with a plain reading of the rules, over many more random streams
# make chaos  disturb runs and services at hundreds of random moments; fill a year of housekeeping
# make bench  measure: ratios, printed from one run
# make bench-pages  measure how soon each page is on screen, beside an empty one
# make clean  remove what make built
# make help   these lines

TOOLS := .tools
# uv where the machine has it; else by pip into a tool environment of its own.
UV := $(or $(shell command -v uv 2>/dev/null),$(TOOLS)/bin/uv)
PYTHON ?= python3
RUN := .venv/bin

.PHONY: help demo test lint pytest bench bench-pages fuzz chaos clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# make/make/p' Makefile

$(TOOLS)/bin/uv:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --disable-pip-version-check uv

.venv/.built: pyproject.toml uv.lock | $(UV)
	$(UV) sync --locked --quiet
	@touch $@

demo: .venv/.built
	$(RUN)/headway demo --home .headway/demo

test: lint pytest

lint: .venv/.built
	$(RUN)/ruff format --check --quiet .
	$(RUN)/ruff check --quiet .
	$(RUN)/mypy

pytest: .venv/.built .venv/.torch
	$(RUN)/pytest -n auto --dist loadfile --no-loadscope-reorder

# torch writes checkpoints that tests then damage. Its CPU build does: pip takes it where it is
# configured to, and uv does not, so uv fetches a pip (the machine's Python may have none). Elsewhere
# say make TORCH="torch==2.13.0 --index-url …". Without it those tests are skipped.
TORCH ?= torch==2.13.0
.venv/.torch: .venv/.built
	$(UV) tool run --quiet pip --python $(RUN)/python install --quiet \
	  --disable-pip-version-check $(TORCH)
	@touch $@

# The long form of the comparison with the plain reading of the rules and of the properties of random
# streams, and of the comparison with the truth of fresh simulations.
fuzz: .venv/.built
	HEADWAY_STREAMS=5000 $(RUN)/pytest tests/test_against_reference.py
	HEADWAY_EXAMPLES=200 $(RUN)/pytest tests/test_any_delivery.py tests/test_folding.py \
	  tests/test_capacity_any_stream.py tests/answers/test_waits.py tests/answers/test_past.py
	HEADWAY_SIMULATIONS=300 $(RUN)/pytest tests/simulation/test_truth.py \
	  tests/simulation/test_cluster_truth.py

chaos: .venv/.built
	HEADWAY_CHAOS=200 HEADWAY_KILLS=50 HEADWAY_DAYS=365 $(RUN)/pytest -s tests/test_chaos.py \
	  tests/test_publication.py tests/pipelines/test_housekeeping.py

bench: .venv/.built
	$(UV) sync --locked --quiet --inexact --group bench
	$(RUN)/python tests/benchmarks/bench.py

bench-pages: .venv/.built
	$(RUN)/python tests/benchmarks/bench.py --only pages

clean:
	rm -rf .venv .tools .headway .mypy_cache .ruff_cache .pytest_cache .hypothesis
