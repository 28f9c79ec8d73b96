"""Processors composed of sound parts pass: what fails in a composed mutant is its broken part."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.tck.checks.all_checks import LENT_TO_PROCESSORS
from penstock.tck.verifying import KINDS
from tests.quick import quick
from tests.tck.mutants import composed_processors
from tests.tck.mutants.composed_processors import (
    DOWNSTREAM,
    NOT_DOWNSTREAM,
    NOT_UPSTREAM,
    UPSTREAM,
    with_inlet,
    with_outlet,
)
from tests.tck.mutants.publishers import FailingStream, Numbers, ThreadStream, broken_publishers
from tests.tck.mutants.publishers_subscribe import Hub
from tests.tck.mutants.sound_subscribers import InBatches, Manual, OneByOne
from tests.tck.mutants.subscribers import mutants as subscriber_mutants

pytestmark = pytest.mark.usefixtures("search_briefly")


@pytest.mark.parametrize("publisher", quick([FailingStream, ThreadStream, Numbers, Hub], [Numbers]))
def test_a_sound_publisher_is_a_sound_lower_side(publisher: type[Any]) -> None:
    claims = {"multicast": publisher is Hub}
    report = KINDS["processor"].verify(with_inlet(publisher), claims, checks=DOWNSTREAM)
    assert report.failures == ()


@pytest.mark.parametrize("subscriber", quick([OneByOne, InBatches, Manual], [OneByOne]))
def test_a_sound_subscriber_is_a_sound_upper_side(subscriber: type[Any]) -> None:
    claims = {"cancels_upstream": True}
    report = KINDS["processor"].verify(with_outlet(subscriber), claims, checks=UPSTREAM)
    assert report.failures == ()


def test_each_check_that_is_lent_is_about_one_of_the_sides() -> None:
    assert sorted([*DOWNSTREAM, *UPSTREAM]) == sorted(LENT_TO_PROCESSORS)


def test_the_parts_that_are_left_out_are_mutants_by_themselves() -> None:
    assert broken_publishers().keys() >= NOT_DOWNSTREAM
    assert {mutant.name for mutant in subscriber_mutants()} >= NOT_UPSTREAM


def test_a_broken_part_gives_its_name_and_its_rule_to_the_whole() -> None:
    composed = {mutant.name: mutant.rule for mutant in composed_processors.mutants()}
    assert composed["SendsOneTooManyDownstream"] == "1.1"
    assert composed["AsksOnceUpstream"] == "2.1"
