from trueness._tally.sketch import Sketch as Sketch
from trueness._tally.tally import Binned as Binned
from trueness.sources._eval_confidence import CONFIDENCE_WORDS as CONFIDENCE_WORDS
from trueness.sources._eval_log import eval_log as eval_log
from trueness.sources._group_by import duckdb_macros as duckdb_macros
from trueness.sources._scan import scan as scan
from trueness.sources._scan import scan_groups as scan_groups

__all__: list[str]
