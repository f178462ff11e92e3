.PHONY: check test test-all papers bench

check:
	ruff format --check .
	ruff check .
	mypy

test:
	pytest -n auto

test-all:
	TRUENESS_EXAMPLES=thorough pytest -n auto -m "slow or not slow"

papers:
	pytest -n auto papers

bench:
	python benchmarks/run.py
