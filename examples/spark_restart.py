"""A pipeline that is stopped in the middle, and goes on where it was.

Run it with ``python examples/spark_restart.py``. It needs ``penstock[spark]`` and Java.
"""

from __future__ import annotations

import tempfile

from penstock import Flow
from penstock.spark import SparkFlow


def squares(checkpoint: str) -> SparkFlow:
    """The same pipeline each time: its name and its checkpoint say so."""
    numbers = Flow.range(100).map(lambda number: (number, number * number))
    return numbers.on_spark(
        "number long, square long", name="squares", checkpoint=checkpoint, batch_rows=20
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = f"{folder}/squares"
        seen: dict[int, int] = {}
        for run, wanted in (("first", 50), ("second", 1000)):
            numbers = []
            for row in squares(checkpoint).rows().take(wanted).blocking():
                numbers.append(row.number)
                seen[row.number] = row.square  # the key makes a second delivery harmless
            print(f"the {run} run had {numbers[0]} to {numbers[-1]}")
        print(f"{len(seen)} squares are here, each once")


if __name__ == "__main__":
    main()
