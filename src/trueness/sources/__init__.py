"""Where rows come from: frames, files, databases and clusters, read as columns or summed."""

from trueness._lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__, __file__)
