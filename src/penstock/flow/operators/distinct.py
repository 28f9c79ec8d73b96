"""Stages that leave out what has been before."""

from __future__ import annotations

from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.operators.each import Applied
from penstock.flow.stage import FROM_START, Woven
from penstock.flow.weaving import Loop

__all__ = ["Distinct", "DistinctUntilChanged"]


class Distinct(Woven):
    """The first element of each key, for a bounded number of keys."""

    rerun = FROM_START

    def __init__(self, name: str, key: Expression, capacity: int) -> None:
        super().__init__(name, text_of(key), (capacity, too_many_keys, *constants_of(key)))
        self._key = text_of(key)

    def weave(self, loop: Loop, *values: str) -> None:
        """A set of keys."""
        capacity, too_many, *constants = values
        seen, key = loop.local("seen", "set()"), loop.local("key", "None")
        loop.line(f"{key} = {self._key.format(*constants, x='x')}")
        loop.drop_if(f"{key} in {seen}")
        loop.line(f"if len({seen}) >= {capacity}: raise {too_many}({capacity})")
        loop.line(f"{seen}.add({key})")


def too_many_keys(capacity: int) -> OverflowError:
    """What is raised where memory would grow beyond what was agreed."""
    return OverflowError(
        f"distinct has seen {capacity} different keys, which is its capacity, and now another one; "
        "give it a larger capacity, or a key with fewer values, or use distinct_until_changed"
    )


class DistinctUntilChanged(Applied):
    """The elements whose key is not that of the element in front."""

    rerun = FROM_START

    def weave(self, loop: Loop, *values: str) -> None:
        """The key of the element in front."""
        begun, key = loop.local("begun", "False"), loop.local("key", "None")
        previous = loop.local("previous", "None")
        loop.line(f"{key} = {self.result(*values)}")
        loop.drop_if(f"{begun} and {key} == {previous}")
        loop.line(f"{begun}, {previous} = True, {key}")
