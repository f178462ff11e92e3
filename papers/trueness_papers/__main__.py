"""Run ``python -m trueness_papers``."""

from trueness_papers.command import command

if __name__ == "__main__":  # worker processes import this module, too
    command(prog_name="python -m trueness_papers")
