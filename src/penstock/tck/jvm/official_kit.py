"""The official kit: its files, its tests, and the rules that they are about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from penstock.java import Library, read_checksums
from penstock.tck.claims import ProcessorClaims

__all__ = [
    "KIT",
    "VERSION",
    "is_placeholder",
    "lacking",
    "rule_of",
]

VERSION: Final = "1.0.4"
KIT: Final = Library(
    name=f"the official kit {VERSION}",
    folder=f"kit-{VERSION}",
    artifacts=(f"org.reactivestreams:reactive-streams-tck:{VERSION}",),
    checksums=read_checksums(Path(__file__).with_suffix(".sha256")),
)


_UNNUMBERED: Final = {
    "required_createPublisher1MustProduceAStreamOfExactly1Element": "1.5",
    "required_createPublisher3MustProduceAStreamOfExactly3Elements": "1.5",
    "required_validate_maxElementsFromPublisher": "1.5",
    "required_validate_boundedDepthOfOnNextAndRequestRecursion": "3.3",
    "required_exerciseWhiteboxHappyPath": "2.1",
    "required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo": "4.1",
    "mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream": "4.2",
}
"""The rules of those whose names do not tell."""

_TAKEN_FOR_GRANTED: Final = {
    "optional_spec104": "failed",
    "required_spec109_mayReject": "failed",
    "optional_spec111": "multicast",
    "required_spec104_mustCallOnErrorOnAll": "multicast",
    "required_mustRequestFromUpstream": "multicast",
    "optional_spec309": "explains_illegal_requests",
}
"""Claims without which a test is about something that the subject need not do."""


def rule_of(test: str) -> str:
    """The number of the rule that a test is about."""
    found = re.search(r"_spec(\d)(\d\d)_", test)
    return f"{found[1]}.{int(found[2])}" if found else _UNNUMBERED[test]


def is_placeholder(test: str) -> bool:
    """Whether the kit only says by this test that it has none."""
    return test.startswith("untested_")


def lacking(test: str, claims: Any) -> str:
    """The claim that a test takes for granted and the subject does not make, if there is one."""
    for start, claim in _TAKEN_FOR_GRANTED.items():
        if test.startswith(start) and not getattr(claims, claim):
            # The source upstream of a processor can be made to fail.
            return "" if claim == "failed" and isinstance(claims, ProcessorClaims) else claim
    return ""
