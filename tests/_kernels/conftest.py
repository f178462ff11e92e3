"""Every test of a kernel runs through the reference and through each vector level of the compiled one."""

import pytest

from trueness._kernels import compiled, library, reference

LEVELS = {"plain": 0, "avx2": 1, "avx512": 2}


@pytest.fixture(scope="module", params=["reference", *LEVELS])
def kernels(request):
    if request.param == "reference":
        yield reference
    else:
        yield from compiled_for(request.param)


@pytest.fixture(scope="module", params=LEVELS)
def compiled_kernels(request):
    yield from compiled_for(request.param)


def compiled_for(level):
    """The compiled kernels, while no wider vectors are used than those of the level."""
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    highest = max(LEVELS.values())
    if library.call("choose_vectors", (), LEVELS[level]) != LEVELS[level]:
        library.call("choose_vectors", (), highest)
        pytest.skip(f"this machine has no {level}")
    yield compiled
    library.call("choose_vectors", (), highest)


@pytest.fixture
def three_threads(monkeypatch):
    """Make the compiled kernels share even a few rows among three threads."""
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    monkeypatch.setattr(compiled, "workers", lambda n: 3)
    return compiled
