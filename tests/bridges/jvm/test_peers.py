"""Streams between Python and the streams of others in Java, both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bridges.jvm.peers import NAMES, Elsewhere, machine_of_its_own
from tests.flow.coming_from import names_on
from tests.quick import quick

pytestmark = [pytest.mark.java_peers, pytest.mark.timeout(300)]

ELEMENTS = 100_000
FLAT = 16 * 2**20
"""Bytes that a process may grow by for reasons of its own."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    with machine_of_its_own("tests.bridges.jvm.scenarios") as call:
        yield call


@pytest.mark.parametrize("peer", quick(NAMES, ["Reactor"]))
def test_a_hundred_thousand_elements_come_from_a_peer(elsewhere: Elsewhere, peer: str) -> None:
    assert elsewhere("from_the_peer", peer, ELEMENTS) == list(range(ELEMENTS))


@pytest.mark.parametrize("peer", NAMES)
def test_a_hundred_thousand_elements_go_there_and_come_back(
    elsewhere: Elsewhere, peer: str
) -> None:
    assert elsewhere("there_and_back", peer, ELEMENTS)


@pytest.mark.parametrize("peer", NAMES)
def test_a_slow_subscriber_here_has_a_peer_asked_for_what_it_asks_for(
    elsewhere: Elsewhere, peer: str
) -> None:
    for requested, (asked, sent, excess, _) in elsewhere("a_slow_subscriber_in_python", peer):
        assert (asked, sent, excess) == (requested, requested, 0)


@pytest.mark.parametrize("peer", NAMES)
def test_a_slow_subscriber_of_a_peer_has_us_asked_for_no_more_than_the_peer_asks_for(
    elsewhere: Elsewhere, peer: str
) -> None:
    steps = elsewhere("a_slow_subscriber_of_the_peer", peer)
    assert [step[0] for step in steps] == [1, 6, 106, 2106]
    for received, asked, sent, asked_here, excess in steps:
        assert received <= sent <= asked
        assert asked_here <= asked
        assert excess == 0


def test_demand_of_java_crosses_as_it_is(elsewhere: Elsewhere) -> None:
    steps = elsewhere("a_slow_subscriber_of_java_alone")
    assert steps == [(1, 1, 1), (6, 6, 6), (106, 106, 106)]


def test_java_gets_all_when_it_asks_for_all_at_once(elsewhere: Elsewhere) -> None:
    for _ in range(5):
        assert elsewhere("taken_without_a_bound", ELEMENTS) == ELEMENTS


@pytest.mark.parametrize("peer", NAMES)
def test_python_cancels_an_endless_stream_of_a_peer(elsewhere: Elsewhere, peer: str) -> None:
    taken, (asked, sent, excess, cancelled) = elsewhere("cancelled_by_python", peer)
    assert taken == list(range(10))
    assert (asked, sent, excess, cancelled) == (10, 10, 0, 1)


@pytest.mark.parametrize("peer", NAMES)
def test_a_peer_cancels_an_endless_stream_of_python(elsewhere: Elsewhere, peer: str) -> None:
    assert elsewhere("cancelled_by_the_peer", peer) == (list(range(10)), True)


@pytest.mark.parametrize("peer", NAMES)
def test_an_error_of_a_peer_arrives_with_its_throwable_as_the_cause(
    elsewhere: Elsewhere, peer: str
) -> None:
    elements, message, cause = elsewhere("failed_by_the_peer", peer)
    # The JDK's own publisher lets an error overtake elements.
    assert elements == list(range(len(elements) if peer == "Jdk" else 10))
    assert message == "java.lang.IllegalStateException: the source is broken"
    assert cause == "java.lang.IllegalStateException"


@pytest.mark.parametrize("peer", NAMES)
def test_an_error_of_python_passes_through_a_peer_and_is_the_same(
    elsewhere: Elsewhere, peer: str
) -> None:
    same, text = elsewhere("failed_by_python", peer)
    assert same
    assert text == "penstock.bridge.PythonException: LookupError: no such price"


def test_memory_is_flat_over_a_million_elements(elsewhere: Elsewhere) -> None:
    assert elsewhere("growth", "Reactor") < FLAT


@pytest.mark.full
@pytest.mark.parametrize("peer", NAMES)
def test_memory_is_flat_over_a_million_elements_by_each_peer(
    elsewhere: Elsewhere, peer: str
) -> None:
    assert elsewhere("growth", peer) < FLAT


def test_every_method_of_flux_is_on_the_page_for_those_who_come_from_reactor(
    elsewhere: Elsewhere,
) -> None:
    methods = elsewhere("methods_of", "reactor.core.publisher.Flux")
    listed = names_on("coming-from-reactor", "Reactor")
    assert methods - listed == set()
    beside = {name for name in listed if name[0].isupper()}
    assert listed - beside - methods == set()
