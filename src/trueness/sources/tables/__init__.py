"""Files of every format as tables of named columns."""
