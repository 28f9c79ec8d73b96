"""Where a source runs while its elements are recorded."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from penstock.api import Publisher
from penstock.flow import Flow
from penstock.runtime import ThreadPool

__all__ = ["on_own_thread"]


def on_own_thread(source: Publisher[Any], leaving: ExitStack) -> Publisher[Any]:
    """``source`` on a thread of its own, if it makes its elements on whatever thread asks for them.

    Else the thread of the journal would make them, and write none before it had all it asked for.
    A flow that waits may do so, too: one operator that waits for something else is enough,
    downstream of a source that makes each element when it is pulled.
    """
    if not isinstance(source, Flow) or source.plan.origin.executor is not None:
        return source
    pool = ThreadPool(name="penstock-input")
    leaving.callback(pool.close, wait=False)
    return source.subscribe_on(pool)
