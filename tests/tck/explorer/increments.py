"""Ways to add one to a shared number. Which of them can lose one tells where threads switch."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType


class Cell:
    value = 0

    @property
    def read(self) -> int:
        return self.value

    def __getitem__(self, key: int) -> int:
        return self.value

    def __neg__(self) -> int:
        return self.value


class Snapshot(AbstractContextManager["Snapshot"]):
    """Reads the number when it is made, and again when a block ends."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.value = cell.value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.value = self.cell.value


class Reader:
    def __call__(self, cell: Cell) -> int:
        return cell.value


def value_of(cell: Cell) -> int:
    return cell.value


def plus_one(number: int) -> int:
    return number + 1


def values_of(cell: Cell) -> Iterator[int]:
    while True:
        yield cell.value


door = nullcontext()
reader = Reader()
partial = functools.partial(value_of)


def in_place(cell: Cell) -> None:
    cell.value += 1


def around_a_python_call(cell: Cell) -> None:
    number = cell.value
    cell.value = plus_one(number)


def read_in_a_python_call(cell: Cell) -> None:
    cell.value = value_of(cell) + 1


def around_a_c_call(cell: Cell) -> None:
    number = cell.value
    cell.value = max(number, 0) + 1


def around_a_c_call_that_raises(cell: Cell) -> None:
    number = cell.value
    try:
        int("none")
    except ValueError:
        cell.value = number + 1


def around_a_loop(cell: Cell) -> None:
    number = cell.value
    for step in (0, 1):
        number += step
    cell.value = number


def around_a_branch(cell: Cell) -> None:
    number = cell.value
    if number >= 0:
        number += 1
    cell.value = number


def by_a_class(cell: Cell) -> None:
    cell.value = Snapshot(cell).value + 1


def by_a_callable_object(cell: Cell) -> None:
    cell.value = reader(cell) + 1


def by_a_partial(cell: Cell) -> None:
    cell.value = partial(cell) + 1


def by_a_callback_of_c(cell: Cell) -> None:
    cell.value = min(map(value_of, (cell,))) + 1


def by_a_generator(cell: Cell) -> None:
    cell.value = next(values_of(cell)) + 1


def by_the_end_of_a_block(cell: Cell) -> None:
    with Snapshot(cell) as snapshot:
        pass
    cell.value = snapshot.value + 1


def around_the_door_of_another_module(cell: Cell) -> None:
    number = cell.value
    with door:
        cell.value = number + 1


def by_unpacked_arguments(cell: Cell) -> None:
    arguments = (cell,)
    cell.value = value_of(*arguments) + 1


def by_a_property(cell: Cell) -> None:
    cell.value = cell.read + 1


def by_a_subscript(cell: Cell) -> None:
    cell.value = cell[0] + 1


def by_an_operator(cell: Cell) -> None:
    cell.value = -cell + 1


def by_iteration(cell: Cell) -> None:
    for number in values_of(cell):
        cell.value = number + 1
        break
