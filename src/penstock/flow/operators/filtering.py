"""Fewer elements: ``filter``, ``take*``, ``skip*``, ``single``, ``distinct*``."""

from __future__ import annotations

from collections import deque

from penstock.api import UNBOUNDED
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.stage import EACH_ALONE, FROM_START, FusedStage
from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.operators.transforming import FunctionStage
from penstock.runtime import shorten

__all__ = [
    "Distinct",
    "DistinctUntilChanged",
    "Filter",
    "Single",
    "Skip",
    "SkipLast",
    "SkipWhile",
    "Take",
    "TakeLast",
    "TakeThrough",
    "TakeWhile",
]


class Take(FusedStage):
    """The first elements, of which there is at least one."""

    rerun = FROM_START
    stops = True
    one_to_one = True

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count,))
        self.max_inputs = count

    def generate(self, loop: LoopCode, *values: str) -> None:
        """Count, and say which one is the last."""
        (count,) = values
        taken = loop.local("taken", "0")
        loop.line(f"{taken} += 1")
        loop.last_if(f"{taken} >= {count}")


class TakeWhile(FunctionStage):
    """The elements before the first one for which the function does not hold."""

    rerun = EACH_ALONE
    stops = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check."""
        loop.stop_if(f"not {self.result(*values)}")


class TakeThrough(FunctionStage):
    """The elements up to and including the first one for which the function does not hold."""

    rerun = EACH_ALONE
    stops = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check, which says which one is the last."""
        loop.check()
        loop.last_if(f"not {self.result(*values)}")


class Skip(FusedStage):
    """All but the first elements."""

    rerun = FROM_START

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count,))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """Count down to where it begins."""
        (count,) = values
        left = loop.local("left", count)
        loop.line(f"if {left}:")
        loop.line(f"{left} -= 1", deeper=1)
        loop.drop(deeper=1)


class SkipWhile(FunctionStage):
    """The first element for which the function does not hold, and all after it."""

    rerun = FROM_START

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check, until the function does not hold."""
        skipping = loop.local("skipping", "True")
        loop.drop_if(f"{skipping} and {self.result(*values)}")
        loop.line(f"{skipping} = False")


class Single(FusedStage):
    """The only element, which waits for the end."""

    rerun = FROM_START
    closes = True
    max_inputs = 2
    inputs_per_output = 2

    def __init__(self, name: str) -> None:
        super().__init__(name, values=(none_came, second_came))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A variable that is set once, given at the end."""
        none, second = values
        loop.check()
        only = loop.local("only", "None")
        loop.line(f"if {only} is not None: raise {second}({only}, x)")
        loop.line(f"{only} = x")
        loop.drop()
        loop.at_end(f"if {only} is None: raise {none}()", f"x, {only} = {only}, None", "emit x")
        loop.at_close(f"if {only} is not None: discard(run, ({only},))")


def none_came() -> ValueError:
    """What ``single`` fails with if there is nothing."""
    return ValueError("single needs exactly one element, and none came; first allows for none")


def second_came(only: object, second: object) -> ValueError:
    """What ``single`` fails with as soon as there are two."""
    return ValueError(
        f"single needs exactly one element, and two came, {shorten(only)} and {shorten(second)}; "
        "first gives the first of several"
    )


class TakeLast(FusedStage):
    """The last elements, of which it holds as many as it may give."""

    rerun = FROM_START
    closes = True
    inputs_per_output = UNBOUNDED

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count, deque))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A queue that forgets the oldest, given at the end."""
        count, queue = values
        loop.check()
        latest = loop.local("latest", f"{queue}((), {count})")
        loop.line(f"{latest}.append(x)")
        loop.drop()
        loop.at_end(f"while {latest}:", f"    x = {latest}.popleft()", "    emit x")
        loop.at_close(f"discard(run, {latest})")


class SkipLast(FusedStage):
    """All but the last elements: each comes when so many have come after it."""

    rerun = FROM_START

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count, deque))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A queue of those that may be the last."""
        count, queue = values
        loop.check()
        latest = loop.local("latest", f"{queue}()")
        loop.line(f"{latest}.append(x)")
        loop.drop_if(f"len({latest}) <= {count}")
        loop.line(f"x = {latest}.popleft()")
        loop.at_close(f"discard(run, {latest})")


class Distinct(FusedStage):
    """The first element of each key, for a bounded number of keys.

    Calls the key function on the thread that pulls the run.
    """

    rerun = FROM_START

    def __init__(self, name: str, key: Expression, capacity: int) -> None:
        super().__init__(name, text_of(key), (capacity, too_many_keys, *constants_of(key)))
        self._key = text_of(key)

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A set of the keys so far."""
        capacity, too_many, *constants = values
        seen, key = loop.local("seen", "set()"), loop.local("key", "None")
        loop.line(f"{key} = {self._key.format(*constants, x='x')}")
        loop.drop_if(f"{key} in {seen}")
        loop.line(f"if len({seen}) >= {capacity}: raise {too_many}({capacity})")
        loop.line(f"{seen}.add({key})")


def too_many_keys(capacity: int) -> OverflowError:
    """What is raised where memory would grow beyond the capacity."""
    return OverflowError(
        f"distinct has seen {capacity} different keys, which is its capacity, and now another one; "
        "give it a larger capacity, or a key with fewer values, or use distinct_until_changed"
    )


class DistinctUntilChanged(FusedStage):
    """The elements whose key is not that of the element before, as ``equal`` compares them.

    Calls both functions on the thread that pulls the run.
    """

    rerun = FROM_START

    def __init__(self, name: str, key: Expression, equal: Expression) -> None:
        self._key, self._equal = text_of(key), text_of(equal)
        self._keys = len(constants_of(key))
        shape = f"{self._key} {self._equal}"
        super().__init__(name, shape, (*constants_of(key), *constants_of(equal)))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A variable for the key of the element that was the last to go on."""
        begun, key = loop.local("begun", "False"), loop.local("key", "None")
        previous = loop.local("previous", "None")
        loop.line(f"{key} = {self._key.format(*values[: self._keys], x='x')}")
        equal = self._equal.format(*values[self._keys :], a=previous, x=key)
        loop.drop_if(f"{begun} and {equal}")
        loop.line(f"{begun}, {previous} = True, {key}")


class Filter(FunctionStage):
    """``x`` goes on if the function says so."""

    rerun = EACH_ALONE
    forgets = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check."""
        loop.drop_if(f"not {self.result(*values)}")
