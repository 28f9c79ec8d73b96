"""The hook for errors with nowhere to go."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.runtime import (
    Undelivered,
    collect_undelivered,
    report_undelivered,
    set_undelivered_hook,
)
from tests.runtime.unit.threads import run_together


@pytest.fixture(autouse=True)
def hook_as_before() -> Iterator[None]:
    previous = set_undelivered_hook(None)
    yield
    set_undelivered_hook(previous)


def raised(error: Exception) -> Exception:
    """The error with a traceback, as one that really was raised."""
    try:
        raise error
    except type(error):
        return error


def test_by_default_the_error_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = raised(ValueError("broken"))
    report_undelivered(error, "a task raised")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("penstock", logging.ERROR)
    assert record.getMessage() == "a task raised: ValueError: broken"
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    # Not `caplog.text`: pyspark, once it has logged an error, sets the form of pytest's handler.
    assert "in raised" in logging.Formatter().format(record)


def test_an_error_without_a_traceback_is_logged_as_well(caplog: pytest.LogCaptureFixture) -> None:
    report_undelivered(ValueError("never raised"), "a check failed")
    assert "a check failed: ValueError: never raised" in caplog.text


def test_a_hook_gets_the_error_and_what_happened_instead_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Undelivered] = []
    set_undelivered_hook(seen.append)
    error = ValueError("broken")
    report_undelivered(error, "a task raised")
    assert seen == [Undelivered(error, "a task raised")]
    assert seen[0].error is error
    assert caplog.records == []


def test_the_hook_is_called_on_the_thread_where_the_error_arose() -> None:
    threads: list[threading.Thread] = []
    set_undelivered_hook(lambda _: threads.append(threading.current_thread()))
    thread = threading.Thread(target=report_undelivered, args=(ValueError(), "lost"))
    thread.start()
    thread.join()
    assert threads == [thread]


def test_a_hook_that_is_false_as_long_as_it_is_empty_is_a_hook(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Collection(list[Undelivered]):
        def __call__(self, undelivered: Undelivered) -> None:
            self.append(undelivered)

    collection = Collection()
    set_undelivered_hook(collection)
    report_undelivered(ValueError("broken"), "lost")
    assert len(collection) == 1
    assert caplog.records == []


def test_replacing_the_hook_returns_the_one_before() -> None:
    def first(_: Undelivered) -> None: ...
    def second(_: Undelivered) -> None: ...

    default = set_undelivered_hook(first)
    assert set_undelivered_hook(second) is first
    assert set_undelivered_hook(default) is second
    assert set_undelivered_hook(None) is default


def test_none_restores_the_log(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Undelivered] = []
    set_undelivered_hook(seen.append)
    set_undelivered_hook(None)
    report_undelivered(ValueError("broken"), "lost")
    assert seen == []
    assert "lost: ValueError: broken" in caplog.text


@pytest.mark.parametrize("hook", [3, "log", [], object()])
def test_a_hook_that_cannot_be_called_is_refused_and_changes_nothing(
    hook: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kind = type(hook).__name__
    with pytest.raises(TypeError, match=f"^the hook must be callable or None, not {kind}$"):
        set_undelivered_hook(hook)
    report_undelivered(ValueError("broken"), "lost")
    assert "lost: ValueError: broken" in caplog.text


def test_a_hook_that_raises_is_logged_together_with_the_error_it_was_given(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: Undelivered) -> None:
        raise KeyError("of the hook")

    set_undelivered_hook(broken)
    report_undelivered(ValueError("of the task"), "a task raised")
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "the hook for undelivered errors raised: KeyError: 'of the hook'",
        "a task raised: ValueError: of the task",
    ]
    assert "KeyError: 'of the hook'" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_the_hook_passes_through(kind: type[BaseException]) -> None:
    def interrupted(_: Undelivered) -> None:
        raise kind

    set_undelivered_hook(interrupted)
    with pytest.raises(kind):
        report_undelivered(ValueError(), "lost")


def test_collecting_keeps_the_errors_in_order_and_logs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = [ValueError("first"), KeyError("second")]
    with collect_undelivered() as lost:
        for error in errors:
            report_undelivered(error, "lost")
    assert [each.error for each in lost] == errors
    assert caplog.records == []


def test_collecting_ends_with_its_block(caplog: pytest.LogCaptureFixture) -> None:
    with collect_undelivered() as lost:
        pass
    report_undelivered(ValueError("later"), "lost")
    assert lost == []
    assert "lost: ValueError: later" in caplog.text


def test_collecting_ends_with_a_block_that_fails_too() -> None:
    seen: list[Undelivered] = []
    set_undelivered_hook(seen.append)
    with pytest.raises(LookupError, match="of the block"), collect_undelivered():
        raise LookupError("of the block")
    report_undelivered(ValueError(), "lost")
    assert len(seen) == 1


def test_collecting_within_collecting_gives_the_error_to_the_inner_one() -> None:
    with collect_undelivered() as outer:
        with collect_undelivered() as inner:
            report_undelivered(ValueError(), "lost")
        report_undelivered(KeyError(), "lost")
    assert [type(each.error) for each in inner] == [ValueError]
    assert [type(each.error) for each in outer] == [KeyError]


def test_errors_from_many_threads_are_all_collected() -> None:
    with collect_undelivered() as lost:
        run_together(*[lambda: report_many(100)] * 4)
    assert len(lost) == 400


def test_an_undelivered_error_reads_as_one_sentence() -> None:
    undelivered = Undelivered(ValueError("broken"), "closing the file raised")
    assert str(undelivered) == "closing the file raised: ValueError: broken"


def report_many(count: int) -> None:
    for _ in range(count):
        report_undelivered(ValueError(), "lost")
