"""Scenarios that take control away from the explorer, or that refuse to end."""

from __future__ import annotations

import _queue
import itertools
import random
import socket
import threading

from penstock.tck import Environment

unowned = [_queue.SimpleQueue[int]()]
unowned_lock = [threading.Lock()]
unowned_event = [threading.Event()]
numbers = itertools.count()


def waits_for_a_queue_of_c(env: Environment) -> None:
    def take() -> None:
        unowned[0].get()

    env.par(take)


def gives_up_on_a_queue_of_c(env: Environment) -> None:
    def take() -> None:
        unowned[0].get(timeout=0.05)

    env.par(take)


def waits_for_a_socket(env: Environment) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.recv(1)


def shares_a_lock_made_before(env: Environment) -> None:
    def hold() -> None:
        with unowned_lock[0]:
            str(1)

    env.par(hold, hold)


def waits_for_an_event_made_before(env: Environment) -> None:
    def wait() -> None:
        unowned_event[0].wait()

    env.par(wait)


def spins(env: Environment) -> None:
    stopped: list[int] = []

    def spin() -> None:
        while not stopped:
            pass

    env.par(spin)


def swallows_its_end(env: Environment) -> None:
    never = threading.Event()

    def stay() -> None:
        while True:
            try:
                while not never.wait():
                    pass
            except BaseException:
                continue

    threading.Thread(target=stay).start()


def swallows_its_end_and_spins(env: Environment) -> None:
    never = threading.Event()

    def stay() -> None:
        while True:
            try:
                never.wait()
                while True:
                    pass
            except BaseException:
                while True:
                    try:
                        while True:
                            pass
                    except BaseException:
                        continue

    threading.Thread(target=stay).start()


def rolls_dice(env: Environment) -> None:
    def roll() -> None:
        for _ in range(random.randrange(100)):
            pass

    env.par(roll, roll)


def remembers_earlier_runs(env: Environment) -> None:
    def count() -> None:
        for _ in range(next(numbers)):
            pass

    env.par(count, count)


def fails_only_now_and_then(env: Environment) -> None:
    env.par(lambda: str(1), lambda: str(1))
    assert next(numbers) % 7
