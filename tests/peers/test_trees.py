"""Random trees, here and in RxPY: the same elements at the same times, and the same end."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.peers.counting import EVERY, count_trees
from tests.peers.demand import KINDS, Kind, Schedule, agrees, schedule
from tests.peers.differences import DIFFERENCES, judge
from tests.peers.examples import EXAMPLES
from tests.peers.trees import Choose, Tree, grow
from tests.peers.vocabulary import OPERATORS

FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2)


def chooser(draw: Any) -> Choose:
    return lambda least, most: int(draw(st.integers(least, most)))


@st.composite
def any_tree(draw: Any) -> Tree:
    return grow(chooser(draw), EVERY)


@st.composite
def tree_and_requests(draw: Any, kind: Kind) -> tuple[Tree, Schedule]:
    return kind.grow(chooser(draw)), schedule(chooser(draw))


@given(tree=any_tree())
def test_a_tree_gives_the_same_here_as_there(tree: Tree) -> None:
    note(str(tree))
    judgement = judge(tree)
    assert judgement.explained_by is not None, f"\n{judgement.here}\n{judgement.there}"


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@FEWER_EXAMPLES
@given(data=st.data())
def test_a_tree_gives_the_same_elements_whatever_the_demand(kind: Kind, data: Any) -> None:
    tree, requests = data.draw(tree_and_requests(kind))
    note(str(tree))
    assert agrees(tree, requests, ordered=kind.ordered)


def test_an_operator_that_does_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = OPERATORS["take"]._replace(ours=lambda flow, call: flow.take(call.number))
    monkeypatch.setitem(OPERATORS, "take", greedy)
    choose = Random(1).randint
    trees = [grow(choose, {"take": 1, "concat": 2}) for _ in range(50)]
    assert any(judge(tree).explained_by is None for tree in trees)


@pytest.mark.full
def test_many_trees_give_the_same_here_as_there() -> None:
    assert count_trees(20_000, seed=1).unexplained == []


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_many_trees_give_the_same_elements_whatever_the_demand(kind: Kind) -> None:
    choose = Random(1).randint
    drawn = [(kind.grow(choose), schedule(choose)) for _ in range(3_000)]
    others = [tree for tree, requests in drawn if not agrees(tree, requests, ordered=kind.ordered)]
    assert others == []


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_that_is_meant_explains_an_example_and_no_other_does(name: str) -> None:
    judgement = judge(EXAMPLES[name])
    assert judgement.here != judgement.there
    assert judgement.explained_by == (name,)
