"""Checks of an operator with threads on both sides: rules 1.3, 2.7, 3.5 and 4.1."""

from __future__ import annotations

from penstock.tck.checks.operator_suite import check
from penstock.tck.operator_bench import OperatorBench, Pipe

FEW = 3


@check("1.3", explored=True)
def sends_one_signal_at_a_time(bench: OperatorBench) -> None:
    """Sends and completes on one thread while the subscriber requests on another; none overlap.

    Send all signals from one place, such as a loop that only one thread is in.
    """
    pipe = bench.led_pipe(request=1, each=1, lingers=True)
    above = bench.above(pipe)

    def send() -> None:
        _send(pipe)
        if not bench.is_left(above):
            above.complete()

    bench.arena.together(send, lambda: pipe.below.request(2))
    bench.arena.settle()


@check("2.7", explored=True)
def calls_above_one_call_at_a_time(bench: OperatorBench) -> None:
    """Sends on one thread while the subscriber requests on another; calls above never overlap.

    Call the source from one place only, such as a loop that only one thread is in.
    """
    pipe = bench.led_pipe(strict=True, request=1, each=1)
    bench.above(pipe)
    bench.arena.together(lambda: _send(pipe), lambda: pipe.below.request(1))
    bench.arena.settle()


@check("3.5", explored=True)
def cancels_above_once_for_two_threads(bench: OperatorBench) -> None:
    """Cancels from two threads while a third one sends; the stream above is cancelled once.

    Let only the cancel that finds the stream open go upstream: look and mark in one step.
    """
    pipe = bench.led_pipe(request=FEW)
    bench.above(pipe)
    bench.arena.together(lambda: _send(pipe), pipe.below.cancel, pipe.below.cancel)
    bench.arena.settle()
    times = pipe.source.cancels
    bench.require(times <= 1, f"the stream above was cancelled {times} times")


@check("4.1", explored=True)
def keeps_the_sequence_between_threads(bench: OperatorBench) -> None:
    """Sends on one thread while the subscriber requests on another; all comes out in sequence.

    Guard by a lock what both sides use, and look again at both before the last thread leaves.
    """
    pipe = bench.led_pipe(request=FEW)
    above = bench.above(pipe)
    bench.arena.together(lambda: _send(pipe), lambda: pipe.below.request(1))
    if bench.claims.expected is None:
        _expect_what_was_sent(bench, pipe)  # before another signal could wake it up
    bench.fill(above, FEW - len(above.sent))
    if bench.claims.expected is None:
        _expect_what_was_sent(bench, pipe)
    else:
        bench.complete(pipe)
    if not bench.fails(above.sent):
        bench.expect_out(pipe.below, bench.out(list(above.sent)))


def _expect_what_was_sent(bench: OperatorBench, pipe: Pipe) -> None:
    bench.expect_out(pipe.below, list(bench.above(pipe).sent))


def _send(pipe: Pipe) -> None:
    for _ in range(FEW):
        pipe.source.streams[0].send_next()
