"""Broken parties that the official kit must fail, each by a test of the rule that it breaks.

They are those mutants of the own kit whose faults the official kit checks for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, Final

from penstock.tck.claims import SubscriberClaims
from penstock.tck.jvm.official_kit import Subject, subject_of
from tests.tck.mutants.gates import GATES
from tests.tck.mutants.publishers import Numbers, Stream, ThreadStream
from tests.tck.mutants.publishers_subscribe import Hub
from tests.tck.mutants.sound_processors import Eager, Relay
from tests.tck.mutants.sound_subscribers import Manual, OneByOne

__all__ = ["broken_processors", "broken_publishers", "broken_subscribers", "sound_models"]

PUBLISHERS: Final = (
    "NeverSends", "SendsOneTooMany", "SendsOneTooManyFromAThread",
    "FillsUp", "NeverSendsFewer", "FailsForWantOfElements",
    "SendsFromTenThreads",
    "NeverCompletes", "FailsAtTheEnd", "CompletesOnlyForOneRequest",
    "ServesAfterCompletion",
    "TakesNone", "StumblesOverNone", "NeverSubscribes", "SendsBeforeOnSubscribe",
    "CompletesBeforeOnSubscribe",
    "SendsOthersToOthers", "LosesForTheSlow",
    "FailsOnEveryRequest",
    "Recurses",
    "RequestRevives",
    "SecondCancelFails", "SecondCancelRaises",
    "IgnoresZero", "IgnoresNegative", "RefusesByAnotherError", "CompletesForZero",
    "RefusesWithoutAWord",
    "KeepsItInAField", "KeepsItInAClosure",
    "FailsWhenDemandOverflows", "FailsAtTheLargestDemand",
)  # fmt: skip

SUBSCRIBERS: Final = (
    "NeverAsks", "DeafToItsUser",
    "AsksInOnComplete", "CancelsInOnComplete", "AsksInOnError", "CancelsInOnError",
    "FlushesAndAsks",
    "TakesAll", "IgnoresTheSecond", "PrefersTheSecond", "RaisesAtTheSecond",
    "NeedsAnElementToComplete", "NeverAsksAndSoNeverWaits",
    "NeedsAnElementToFail", "RaisesTheErrorOfTheStream",
    "TakesNoneForASubscription", "TakesNoneForAnElement", "TakesNoneForAnError",
    "RaisesSomethingElse",
)  # fmt: skip

WATCHED_SUBSCRIBERS: Final = (
    "CancelsInOnCompleteForItsUser",
    "RaisesAfterCancelOfItsUser",
    "MissesCompletionForItsUser",
    "RaisesTheErrorForItsUser",
)  # fmt: skip
"""Those that have to be steered, or inspected."""

PROCESSORS: Final = (
    "SendsOneTooMany",
    "CancelsInOnComplete", "TakesASecondSource", "RefusesLateElements", "TakesNone",
    "TakesAnyRequest", "KeepsItsSubscriber",
    "SwallowsErrors", "CompletesInPlaceOfErrors", "PassesAnotherErrorOn", "ErrorsWaitForDemand",
)  # fmt: skip

LOOKING_IN: Final[dict[str, Any]] = {
    "puppet": lambda subscriber: subscriber,
    "received": lambda subscriber: subscriber.elements,
    "completed": lambda subscriber: subscriber.done,
    "failed": lambda subscriber: subscriber.error,
}


def broken_publishers() -> dict[str, Subject]:
    """Broken publishers by name."""
    return _subjects("publisher", PUBLISHERS)


def broken_subscribers() -> dict[str, Subject]:
    """Broken subscribers by name."""
    watched = {
        name: replace(subject, whitebox=True, claims=SubscriberClaims(**LOOKING_IN))
        for name, subject in _subjects("subscriber", WATCHED_SUBSCRIBERS).items()
    }
    return _subjects("subscriber", SUBSCRIBERS) | watched


def broken_processors() -> dict[str, Subject]:
    """Broken processors by name."""
    return _subjects("processor", PROCESSORS)


def sound_models() -> dict[str, Subject]:
    """What the broken ones are made of, which the kit must pass."""
    return {
        "a stream": subject_of("publisher", partial(Numbers, stream=Stream), {}),
        "a stream on a thread": subject_of("publisher", partial(Numbers, stream=ThreadStream), {}),
        "a hub": subject_of("publisher", Hub, {"multicast": True}),
        "a subscriber": subject_of("subscriber", OneByOne, {}),
        "a steered subscriber": subject_of("subscriber", Manual, LOOKING_IN, whitebox=True),
        "a relay": subject_of("processor", Relay, {}),
        "an eager relay": subject_of("processor", Eager, {}),
    }


def _subjects(kind: str, names: Collection[str]) -> dict[str, Subject]:
    mutants = {mutant.name: mutant for mutant in GATES[kind].mutants}
    return {
        f"{kind} {name}": subject_of(
            kind, mutants[name].factory, mutants[name].claims, rules=[mutants[name].rule]
        )
        for name in names
    }
