"""Operators of which one side is a broken publisher or subscriber, and the other one is sound.

They are the processors of `composed_processors`, each joined to the source of the operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from penstock.tck.checks.all_checks import PUBLISHER, SUBSCRIBER
from tests.tck.mutants import composed_processors
from tests.tck.mutants.gate import Mutant
from tests.tck.mutants.sound_operators import Shared

DOWNSTREAM: Final = {*(check.name for check in PUBLISHER), "drops_the_subscriber_at_the_end"}
"""The names of the checks of what comes out of an operator."""
UPSTREAM: Final = {check.name for check in SUBSCRIBER}
"""The names of the checks of the subscriber that it hands to its source."""

HANGS: Final = {"HoldsItsLockWhileItAsksUpstream"}
"""Mutants that hang as soon as they are used, before all checks."""


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for mutant in composed_processors.mutants():
        if mutant.name not in HANGS:
            yield _joined(mutant)


def _joined(mutant: Mutant) -> Mutant:
    claims = {claim: value for claim, value in mutant.claims.items() if claim != "cancels_upstream"}
    checks = UPSTREAM if mutant.checks == composed_processors.UPSTREAM else DOWNSTREAM
    apply = partial(Shared, make=mutant.factory)
    return Mutant(mutant.name, mutant.rule, apply, {**claims, "shares": True}, checks)
