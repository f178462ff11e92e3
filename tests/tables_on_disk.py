"""Tables written in every format that the command reads."""

import json
from pathlib import Path

import numpy as np

__all__ = ["FORMATS", "write_columns"]

FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl", "npz", "npy")


def write_columns(path: Path, columns: dict[str, np.ndarray]) -> Path:
    """A table in the format that its name says."""
    import polars as pl

    kind = path.suffix[1:]
    frame = pl.DataFrame({name: values for name, values in columns.items() if values.ndim == 1})
    if kind in ("csv", "tsv"):
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "arrow":
        frame.write_ipc(path)
    elif kind == "jsonl":
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        path.write_text(
            "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
        )
    elif kind == "npz":
        np.savez(path, **columns)
    else:
        table = np.zeros(
            len(frame), dtype=[(name, values.dtype) for name, values in columns.items()]
        )
        for name, values in columns.items():
            table[name] = values
        np.save(path, table)
    return path
