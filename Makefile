.PHONY: check test test-all papers docs bench

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

docs:
	sphinx-build -W --keep-going -n -q -j auto -b html docs docs/_build/html
	pytest -q --noconftest -p no:cacheprovider tests/test_site.py

bench:
	python benchmarks/run.py
