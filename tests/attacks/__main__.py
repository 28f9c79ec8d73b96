"""All attacks, most of them on a live pipeline, on loopback: ``python -m tests.attacks``.

It prints what was tried and what happened. The exit code is 0 if all of it was refused, nothing was
lost, and the pipeline went on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from tests.attacks import code, files, page, spark
from tests.attacks.attack import Attack
from tests.attacks.target import live

NETWORK = "tests.attacks.network"


def all_attacks(folder: Path) -> Iterator[Attack]:
    yield from code.attacks()
    if find_spec(NETWORK):
        yield from (attack() for attack in import_module(NETWORK).ATTACKS)
    yield from files.planted_pickles(folder)
    mark = folder / "was-run-by-spark"
    with live(folder, "on_spark") as target:
        assert target.checkpoint is not None
        yield from page.attacks(target)
        yield from spark.attacks(target)
        yield from files.attacks(target.checkpoint)
        planted = files.plant_pickles(target.checkpoint, mark)
        goes_on = target.goes_on()
        yield Attack(
            "pickles beside all files",
            f"{planted}, while the pipeline runs",
            "IT WAS RUN" if mark.exists() else "nobody has loaded one",
            goes_on and not mark.exists(),
        )
        wrong = target.end()
    with live(folder, "on_spark") as target:
        goes_on = target.goes_on()
        wrong = wrong or target.end()
    yield Attack(
        "the same pickles",
        "a run that goes on from the checkpoint",
        "IT WAS RUN" if mark.exists() else "nobody has loaded one",
        goes_on and not mark.exists(),
    )
    count = len(target.numbers())
    yield Attack(
        "all of that",
        "what has become of the data",
        wrong or f"{count:,} rows, each once",
        not wrong,
    )


def main() -> int:
    table = Table("attack", "what was tried", "what happened", "", box=None, pad_edge=False)
    failed = 0
    with TemporaryDirectory(prefix="penstock-attacks-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # another user gets as far as the checkpoint
        for attack in all_attacks(folder):
            failed += not attack.held
            held = "held" if attack.held else "NOT HELD"
            table.add_row(attack.attack, attack.tried, attack.happened, held)
            sys.stderr.write(f"{held}: {attack.attack}\n")
    Console(width=160, soft_wrap=True).print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
