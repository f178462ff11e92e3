from trueness._tally.sketch import Sketch as Sketch
from trueness._tally.tally import Binned as Binned
from trueness.sources.engines._group_by import duckdb_macros as duckdb_macros
from trueness.sources.engines._scan import scan as scan
from trueness.sources.engines._scan import scan_groups as scan_groups
from trueness.sources.logs._confidence import CONFIDENCE_WORDS as CONFIDENCE_WORDS
from trueness.sources.logs._eval_log import eval_log as eval_log

__all__: list[str]
