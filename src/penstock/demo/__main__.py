"""``python -m penstock.demo`` is ``penstock demo``."""

from penstock.cli.demo import command

if __name__ == "__main__":
    command(prog_name="penstock demo")
