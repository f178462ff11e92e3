"""Every test of a kernel runs through the reference and through each vector level of the compiled one."""

import ctypes

import pytest

from trueness._kernels import compiled, compiled_logits, library, reference

LEVELS = {"plain": 0, "avx2": 1, "avx512": 2}


@pytest.fixture(scope="module", params=["reference", *LEVELS])
def kernels(request):
    if request.param == "reference":
        yield reference
        return
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    choose_vectors = library.bind("choose_vectors", 0, ctypes.c_int)
    highest = max(LEVELS.values())
    if choose_vectors(LEVELS[request.param]) != LEVELS[request.param]:
        choose_vectors(highest)
        pytest.skip(f"this machine has no {request.param}")
    yield compiled
    choose_vectors(highest)


@pytest.fixture
def three_threads(monkeypatch):
    """Make the compiled kernels share even a few rows among three threads."""
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    for module in compiled, compiled_logits:
        monkeypatch.setattr(module, "workers", lambda n: 3)
    return compiled
