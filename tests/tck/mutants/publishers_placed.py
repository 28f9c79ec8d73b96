"""Mutants of other chapters that show their fault only when they are called within one signal.

Called from anywhere else, they are sound. So none is rejected by a check that calls from outside.
"""

from __future__ import annotations

from typing import Any, Final

from tests.tck.mutants import (
    publishers_cancel,
    publishers_claims,
    publishers_demand,
    publishers_ends,
    publishers_request,
    publishers_signals,
)
from tests.tck.mutants.gate import rule_of
from tests.tck.mutants.publishers import FailingStream, Stream

PLACES: Final = {"on_subscribe": "InOnSubscribe", "on_next": "InOnNext"}
"""The signals, and how the names of the mutants end."""

BROKEN: Final[tuple[type[Stream], ...]] = (
    publishers_demand.SendsOneTooMany,
    publishers_demand.FailsForWantOfElements,
    publishers_demand.ReplacesDemand,
    publishers_demand.TakesOnlyIndices,
    publishers_signals.GoesOnWhenOnNextRaises,
    publishers_signals.FailsWhenOnCompleteRaises,
    publishers_signals.FailsTwiceWhenOnErrorRaises,
    publishers_ends.SwallowsItsFailure,
    publishers_ends.NeverCompletes,
    publishers_ends.WaitsToComplete,
    publishers_ends.KeepsTheEndOfItsSource,
    publishers_ends.KeepsWhoFailed,
    publishers_ends.CompletesAfterItsFailure,
    publishers_request.SleepsInRequest,
    publishers_request.IgnoresZero,
    publishers_request.RefusesWithoutAWord,
    publishers_request.TakesABool,
    publishers_request.RaisesForZero,
    publishers_cancel.SleepsInCancel,
    publishers_cancel.RequestRevives,
    publishers_cancel.SecondCancelRevives,
    publishers_cancel.KeepsItForAnotherTime,
    publishers_claims.ReportsTwice,
    publishers_claims.ClosesEachTime,
    publishers_claims.LeavesItsSourceOpen,
)


BROKEN_FROM_THEN_ON: Final[tuple[type[Stream], ...]] = (
    publishers_ends.AnswersAfterCompletion,
    publishers_ends.AnswersAfterAnError,
    publishers_ends.ServesAfterCompletion,
    publishers_ends.SendsAfterAnIllegalRequest,
)
"""Those that show later what a call has done to them."""


class Placed(Stream):
    """Is of one class when it is called within the signal ``place``, and of another elsewhere."""

    place: str
    forms: dict[bool, type[Any]]
    """The sound class, and the broken one."""
    inside = ""

    def call(self, subscriber: Any, signal: str, *arguments: object) -> None:
        outer, self.inside = self.inside, signal
        try:
            super().call(subscriber, signal, *arguments)
        finally:
            self.inside = outer

    def request(self, n: int) -> None:
        self.turn()
        super().request(n)

    def cancel(self) -> None:
        self.turn()
        super().cancel()

    def turn(self) -> None:
        self.__class__ = self.forms[self.inside == self.place]


class PlacedOnce(Placed):
    """Stays what it has become at the ``place``."""

    def turn(self) -> None:
        if self.inside == self.place:
            super().turn()


def placed(broken: type[Stream], place: str) -> type[Stream]:
    """The mutant that is broken at one place only."""
    sound = next(base for base in broken.__mro__ if not rule_of(base))
    kind = PlacedOnce if broken in BROKEN_FROM_THEN_ON else Placed
    described = {"__doc__": broken.__doc__, "__module__": __name__, "claims": broken.claims}
    forms: dict[bool, type[Stream]] = {}
    for is_there, stream in ((True, broken), (False, sound)):
        namespace = {**described, "place": place, "forms": forms}
        forms[is_there] = type(broken.__name__ + PLACES[place], (kind, failing(stream)), namespace)
    return forms[False]


def failing(stream: type[Stream]) -> type[Stream]:
    """The same, whose source may break: as a side of a processor, it is joined to such a source."""
    if issubclass(FailingStream, stream):
        return FailingStream
    return type(stream.__name__, (stream, FailingStream), {})


NOT_THERE: Final = {
    # The source need not be open yet.
    (publishers_claims.LeavesItsSourceOpen, "on_subscribe"),
}

MUTANTS: Final = [
    placed(broken, place)
    for broken in (*BROKEN, *BROKEN_FROM_THEN_ON)
    for place in PLACES
    if (broken, place) not in NOT_THERE
]

vars().update({mutant.__name__: mutant for mutant in MUTANTS})
