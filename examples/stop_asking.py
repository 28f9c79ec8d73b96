"""A subscriber that stops asking: the source is read no further than anybody wants it.

Run it with ``python examples/stop_asking.py``. The source would never end.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock import IterablePublisher, SyncSubscriber


def squares() -> Iterator[int]:
    """Say which square is worked out, and when."""
    number = 0
    while True:
        print(f"  working out {number} x {number}")
        yield number * number
        number += 1


class UpTo(SyncSubscriber[int]):
    """Print the elements until one reaches the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def receive(self, element: int) -> bool:
        print(element)
        return element < self.limit


if __name__ == "__main__":
    IterablePublisher(squares()).subscribe(UpTo(9))
