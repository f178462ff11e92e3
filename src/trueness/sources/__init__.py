"""Where rows come from: frames, files, databases and clusters, read as columns or summed in place."""

from typing import TYPE_CHECKING

from trueness._lazy import lazily

__all__ = ["duckdb_macros", "scan", "scan_groups"]

if TYPE_CHECKING:
    from trueness.sources._group_by import duckdb_macros
    from trueness.sources._scan import scan, scan_groups

__getattr__, __dir__ = lazily(__name__, {"_group_by": ("duckdb_macros",), "_scan": ("scan", "scan_groups")})
