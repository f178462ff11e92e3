"""Every pass that this machine has: the library's loops, torch's operations and, where there is a GPU, the kernels."""

import pytest


@pytest.fixture(params=["loops", "operations", "kernels"])
def device(request, monkeypatch):
    """The device to put tensors on for that pass."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if request.param == "kernels" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    if request.param == "operations":
        monkeypatch.setenv("TRUENESS_TORCH", "operations")
    return "cuda" if request.param == "kernels" else "cpu"
