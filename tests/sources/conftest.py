"""The fixtures that run the command."""

from command_line import binary, call, fails, grouped, multiclass, peak_of, process, without

__all__ = ["binary", "call", "fails", "grouped", "multiclass", "peak_of", "process", "without"]
