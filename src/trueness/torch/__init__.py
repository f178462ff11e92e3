"""Binned sums of tensors on their own device, and a metric that accumulates them."""

from importlib.util import find_spec

from trueness._lazy import lazily
from trueness.errors import MissingLibraryError

if find_spec("torch") is None:
    raise MissingLibraryError(
        "`trueness.torch` needs torch, which is not installed: `pip install 'trueness[torch]'`."
    )

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
