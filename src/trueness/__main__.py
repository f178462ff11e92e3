"""``python -m trueness`` is the command line."""

from trueness.cli import main

if __name__ == "__main__":
    main(prog_name="trueness")
