"""The Triton kernels of `trueness.torch` on a CUDA device."""

from benchmark import Page, case


@case("gpu", "Triton kernels on a CUDA device: checks and times", "2 min")
def gpu(page: Page, quick: bool, *, only: str = "check,scores,logits") -> None:
    from cases._gpu_kernels import run  # needs torch, Triton and a device

    run(page, quick, only)
