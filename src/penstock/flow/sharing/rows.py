"""Elements that go to several subscribers at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import compress, islice, repeat
from operator import length_hint
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.demand import COMPLETED, require_element
from penstock.flow.elements import PENDING, Elements
from penstock.reference.member import Member

__all__ = ["Rows"]

T = TypeVar("T")
Call: TypeAlias = Callable[[Any], object]


class Rows(Generic[T]):
    """Sends elements to all members of a hub in one loop, as long as nobody disturbs.

    ``disturbed``  somebody came, or is about to leave
    ``late``       the element that came when somebody had disturbed already
    """

    __slots__ = ("_most", "_turns", "_unsent", "disturbed", "late")

    def __init__(self) -> None:
        self.disturbed: Any = False  # a bool, which other threads change
        self.late: list[T] = []
        self._most = 0
        self._turns: Iterator[bool] = repeat(True, 0)
        self._unsent = 0

    @property
    def sent(self) -> int:
        """How many elements have been sent, or are being sent."""
        return self._most - length_hint(self._turns) - self._unsent

    def send(
        self, elements: Elements, members: list[Member[T]], most: int, keep: Call | None
    ) -> object:
        """Send up to ``most`` elements, each of which is given to ``keep`` first.

        Returns ``PENDING`` if one is pending, ``COMPLETED`` if there are no more, else ``None``.
        """
        self._most = most
        # Counting is left to the iterators: whatever is done for each element is felt here.
        self._turns = repeat(True, most)
        return self._send(compress(islice(elements, most), self._turns), members, keep)

    def _send(self, elements: Elements, members: list[Member[T]], keep: Call | None) -> object:
        calls = calls_of(members)
        call = calls[0]
        alone = len(calls) == 1
        try:
            for element in elements:
                if element is PENDING or element is None or self.disturbed:
                    return self._leave_out(element)
                if keep is not None:
                    keep(element)
                try:
                    if alone:
                        call(element)
                    else:
                        for call in calls:
                            call(element)
                except BaseException as error:
                    finish_row(error, element, call, calls, members)
                if self.disturbed:
                    return None
        finally:
            del calls, call  # 3.13: an error that somebody keeps also keeps this frame
        return COMPLETED if self.sent < self._most else None

    def _leave_out(self, element: T) -> object:
        self._unsent = 1
        if element is PENDING:
            return PENDING
        require_element(element)
        self.late.append(element)
        return None


def calls_of(members: Iterable[Member[Any]]) -> list[Call]:
    """What each of the members is called by: an object of its own, even for a shared function."""
    calls: list[Call] = [member.call for member in members]
    if len(set(map(id, calls))) < len(calls):
        return [partial(call) for call in calls]
    return calls


def finish_row(
    error: BaseException, element: object, call: Call, calls: list[Call], members: list[Member[T]]
) -> None:
    """``call`` raised ``error``; those behind it get the element all the same."""
    failed = next(at for at, each in enumerate(calls) if each is call)
    interrupt = blame(members[failed], error)
    for at in range(failed + 1, len(calls)):
        try:
            calls[at](element)
        except BaseException as another:
            interrupt = blame(members[at], another) or interrupt
    if interrupt is not None:
        raise interrupt


def blame(member: Member[T], error: BaseException) -> BaseException | None:
    """End the stream of a member that raised; the error, if others have to hear of it."""
    if isinstance(error, Exception):
        member.blame(error)
        return None
    member.cancel()
    return error
