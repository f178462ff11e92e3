"""How numbers, names and tables are written, in every form of output."""
