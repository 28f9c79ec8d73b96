"""Checks of an operator with threads on both sides: rules 1.3, 2.7, 3.5 and 4.1."""

from __future__ import annotations

from penstock.tck.checks.suites import OPERATOR
from penstock.tck.operator_fixture import OperatorFixture, OperatorPipe

FEW = 3


@OPERATOR.check("1.3", explored=True)
def sends_one_signal_at_a_time(fixture: OperatorFixture) -> None:
    """Sends and completes on one thread while the subscriber requests on another; none overlap.

    Send all signals from one place, such as a loop that only one thread is in.
    """
    pipe = fixture.led_pipe(request=1, each=1, lingers=True)
    upstream = fixture.upstream_of(pipe)

    def send() -> None:
        _send(pipe)
        if not fixture.is_left(upstream):
            upstream.complete()

    fixture.environment.together(send, lambda: pipe.downstream.request(2))
    fixture.environment.settle()


@OPERATOR.check("2.7", explored=True)
def calls_upstream_one_call_at_a_time(fixture: OperatorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; calls upstream never overlap.

    Call the source from one place only, such as a loop that only one thread is in.
    """
    pipe = fixture.led_pipe(strict=True, request=1, each=1)
    fixture.upstream_of(pipe)
    fixture.environment.together(lambda: _send(pipe), lambda: pipe.downstream.request(1))
    fixture.environment.settle()


@OPERATOR.check("3.5", explored=True)
def cancels_upstream_once_for_two_threads(fixture: OperatorFixture) -> None:
    """Cancels from two threads while a third one sends; upstream is cancelled once.

    Let only the cancel that finds the stream open go upstream: check and mark in one step.
    """
    pipe = fixture.led_pipe(request=FEW)
    fixture.upstream_of(pipe)
    fixture.environment.together(
        lambda: _send(pipe), pipe.downstream.cancel, pipe.downstream.cancel
    )
    fixture.environment.settle()
    times = pipe.source.cancels
    fixture.require(times <= 1, f"upstream was cancelled {times} times")


@OPERATOR.check("4.1", explored=True)
def keeps_the_order_between_threads(fixture: OperatorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; all comes out in order.

    Guard by a lock what both sides use, and check both again before the last thread leaves.
    """
    pipe = fixture.led_pipe(request=FEW)
    upstream = fixture.upstream_of(pipe)
    fixture.environment.together(lambda: _send(pipe), lambda: pipe.downstream.request(1))
    if fixture.claims.expected is None:
        _expect_what_was_sent(fixture, pipe)  # before another signal could wake it up
    fixture.fill(upstream, FEW - len(upstream.sent))
    if fixture.claims.expected is None:
        _expect_what_was_sent(fixture, pipe)
    else:
        fixture.complete(pipe)
    if not fixture.fails(upstream.sent):
        fixture.expect_out(pipe.downstream, fixture.out(list(upstream.sent)))


def _expect_what_was_sent(fixture: OperatorFixture, pipe: OperatorPipe) -> None:
    fixture.expect_out(pipe.downstream, list(fixture.upstream_of(pipe).sent))


def _send(pipe: OperatorPipe) -> None:
    for _ in range(FEW):
        pipe.source.streams[0].send_next()
