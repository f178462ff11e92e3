"""Frames, files, databases and clusters → the sums that every measure takes."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__all__ = ["scan"]

if TYPE_CHECKING:
    from trueness.sources._scan import scan

__getattr__, __dir__ = lazily(__name__, {"_scan": ("scan",)})
