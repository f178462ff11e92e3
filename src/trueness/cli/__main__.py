"""``python -m trueness.cli``, the same as ``python -m trueness``."""

from trueness.cli import main

if __name__ == "__main__":
    main(prog_name="trueness")
