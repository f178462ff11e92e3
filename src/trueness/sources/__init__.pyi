from trueness.sources._group_by import duckdb_macros as duckdb_macros
from trueness.sources._scan import scan as scan
from trueness.sources._scan import scan_groups as scan_groups

__all__: list[str]
