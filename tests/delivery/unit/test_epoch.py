"""A sink tells a batch that it has from another batch of the same number."""

from __future__ import annotations

import pickle

import pytest

from penstock.delivery import BatchesLost, BatchProgress, DeliveryRefused, Epoch

SINK = "the file late.jsonl"


def test_a_sink_without_a_mark_has_nothing() -> None:
    assert not Epoch.begun().has(None, 0, SINK)


def test_a_batch_that_comes_again_in_the_next_run_is_known() -> None:
    first = Epoch.begun()
    mark = first.mark(4)
    second = Epoch.begun(first.starts, planned=4)
    assert second.has(mark, 4, SINK)
    assert not second.has(mark, 5, SINK)


def test_a_batch_that_was_planned_and_not_stored_is_wanted() -> None:
    first = Epoch.begun()
    assert not Epoch.begun(first.starts, planned=5).has(first.mark(4), 5, SINK)


def test_an_epoch_survives_being_written_down() -> None:
    first = Epoch.begun()
    second = Epoch.begun(first.starts, planned=2)
    assert Epoch.read(second.text) == second
    assert Epoch.read(second.text).has(first.mark(2), 2, SINK)


def test_a_sink_of_a_deleted_checkpoint_is_refused() -> None:
    mark = Epoch.begun().mark(7)
    with pytest.raises(DeliveryRefused, match="late.jsonl was written from another checkpoint"):
        Epoch.begun().has(mark, 0, SINK)


def test_a_sink_that_is_ahead_of_a_restored_checkpoint_is_refused() -> None:
    first = Epoch.begun()
    restored = Epoch.begun(first.starts, planned=10)
    with pytest.raises(DeliveryRefused, match="has batch 15, .* up to 10 "):
        restored.has(first.mark(15), 11, SINK)


def test_a_batch_of_the_same_number_that_the_restored_checkpoint_has_not_planned_is_refused() -> (
    None
):
    first = Epoch.begun()
    restored = Epoch.begun(first.starts, planned=14)
    with pytest.raises(DeliveryRefused, match="has batch 15, .* up to 14 "):
        restored.has(first.mark(15), 15, SINK)


def test_runs_that_the_restored_checkpoint_does_not_know_are_refused() -> None:
    first = Epoch.begun()
    second = Epoch.begun(first.starts, planned=3)
    restored = Epoch.begun(first.starts, planned=3)
    with pytest.raises(DeliveryRefused, match="deleted or restored"):
        restored.has(second.mark(4), 4, SINK)


def test_an_earlier_batch_never_comes_again() -> None:
    first = Epoch.begun()
    with pytest.raises(DeliveryRefused, match="has batch 4, and batch 3 comes again"):
        Epoch.begun(first.starts, planned=4).has(first.mark(4), 3, SINK)


@pytest.mark.parametrize("mark", ["", "{", "[]", '{"run": "a"}', '{"run": "a", "batch": "x"}'])
def test_a_damaged_mark_is_refused(mark: str) -> None:
    with pytest.raises(DeliveryRefused, match="late.jsonl holds a mark that is damaged"):
        Epoch.begun().has(mark, 0, SINK)


@pytest.mark.parametrize("text", ["", "{", '["a"]', '[["a", "x"]]', "3"])
def test_what_is_no_epoch_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="no epoch"):
        Epoch.read(text)


# What a sink has lost.


def test_a_sink_that_has_lost_batches_is_refused_and_told_which() -> None:
    first = Epoch.begun()
    next_run = Epoch.begun(first.starts, planned=9).for_sink(9)
    with pytest.raises(BatchesLost, match="has batch 3 as its last, and has had batch 9: it was"):
        next_run.last_batch(first.mark(3), SINK)
    with pytest.raises(BatchesLost, match="has no batch of this pipeline, and has had batch 9:"):
        BatchProgress(SINK, next_run)
    assert next_run.last_batch(first.mark(9), SINK) == 9


def test_what_is_lost_is_told_without_the_remedy_whatever_the_sink_is_called() -> None:
    sink = "the stream late at redis://127.0.0.1:6379/0"
    with pytest.raises(BatchesLost) as lost:
        Epoch.begun().for_sink(4).last_batch(None, sink)
    assert lost.value.args == (f"{sink} has no batch of this pipeline, and has had batch 4",)
    assert "4: it was emptied, replaced or restored" in str(pickle.loads(pickle.dumps(lost.value)))


def test_one_that_has_more_than_the_checkpoint_knows_has_lost_nothing() -> None:
    first = Epoch.begun()
    next_run = Epoch.begun(first.starts, planned=9).for_sink(8)
    assert next_run.has(first.mark(9), 9, SINK)


def test_what_a_sink_has_had_is_not_written_down_with_the_starts() -> None:
    epoch = Epoch.begun().for_sink(4)
    assert Epoch.read(epoch.text) == Epoch(epoch.starts)


@pytest.mark.parametrize("found", [None, 1])
def test_a_mark_that_is_gone_or_older_than_the_one_that_was_stored_is_a_loss(
    found: int | None,
) -> None:
    epoch = Epoch.begun()
    progress = BatchProgress(SINK, epoch, epoch.mark(2))
    there = None if found is None else epoch.mark(found)
    assert "and has had batch 2" in str(progress.loss(epoch.mark(2), there))


def test_a_mark_of_somebody_else_is_no_loss_and_neither_is_one_that_never_was() -> None:
    epoch = Epoch.begun()
    progress = BatchProgress(SINK, epoch, epoch.mark(2))
    assert progress.loss(epoch.mark(2), Epoch.begun().mark(7)) is None
    assert progress.loss(epoch.mark(2), epoch.mark(3)) is None
    assert progress.loss(None, Epoch.begun().mark(0)) is None
    assert BatchProgress(SINK).loss(epoch.mark(2), None) is None
