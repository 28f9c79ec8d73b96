"""One run for several subscribers, here for one."""

from __future__ import annotations

from penstock.rules import RULES
from tests.flow.case import Case


def same(given: list[int]) -> list[int]:
    return given


SHARED = {"shares": True, "multicast": True}

ABOUT_LEAVING = {"2.6", "2.8", "2.9", "2.10", "3.6", "3.7"}
"""Rules about upstream that the kit verifies by letting the only subscriber cancel."""

GOES_ON = {**SHARED, "rules": [rule for rule in RULES if rule not in ABOUT_LEAVING]}
"""The run outlives its subscribers; what cancels it is judged in ``test_connections.py``."""

CASES = [
    Case("share", lambda flow: flow.share(), same, claims=SHARED),
    Case("share, as the front of a flow", lambda flow: flow.share().map(int), same),
    Case("share with grace", lambda flow: flow.share(grace=3600).map(int), same, keeps=True),
    Case("publish and ref_count", lambda flow: flow.publish().ref_count(), same, claims=SHARED),
    Case(
        "auto_connect downstream of publish",
        lambda flow: flow.publish().auto_connect(),
        same,
        keeps=True,
        claims=GOES_ON,
    ),
    Case(
        "ref_count downstream of replay",
        lambda flow: flow.replay(3).ref_count(),
        same,
        keeps=True,
        claims=SHARED,
    ),
    Case("replay", lambda flow: flow.replay(3), same, keeps=True, claims=GOES_ON),
    Case("replay within a time", lambda flow: flow.replay(3, within=3600), same, keeps=True),
    Case(
        "ref_count downstream of cache",
        lambda flow: flow.cache().ref_count(),
        same,
        keeps=True,
        claims=SHARED,
    ),
    Case("cache", lambda flow: flow.cache(), same, keeps=True, claims=GOES_ON),
]
