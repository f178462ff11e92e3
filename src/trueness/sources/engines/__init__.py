"""The sums of rows that an engine makes in place: of frames, files, databases and clusters."""
