"""A pipeline that runs for hours and is killed again and again: ``python -m tests.soak --hours 2``.

A feed on loopback gives so many rows a second, Spark adds a column, and Parquet files get each row
once. Every ten minutes all processes of the pipeline are killed, and it is started again. Another
program reads the files and counts each row. What the processes use is written down every few
seconds; at the end a verdict says whether all rows were there once and whether anything grows.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.soak.soak import Soak

__all__: list[str] = []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--hours", type=float)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--rate", type=int, default=50_000, help="rows a second")
    parser.add_argument("--kill-every", type=float, default=600.0, help="seconds")
    parser.add_argument("--sample-every", type=float, default=5.0, help="seconds")
    parser.add_argument("--out", type=Path, help="a new folder for what it writes")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its processes are ended, too
    seconds = given.hours * 3600 if given.hours is not None else given.minutes * 60
    folder = given.out or Path(mkdtemp(prefix="penstock-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    soak = Soak(
        folder.absolute(),
        rate=given.rate,
        rows=int(given.rate * seconds),
        kill_every=given.kill_every,
        sample_every=given.sample_every,
    )
    return 0 if soak.run() else 1


if __name__ == "__main__":
    sys.exit(main())
