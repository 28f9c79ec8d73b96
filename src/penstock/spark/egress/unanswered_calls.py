"""Calls of Spark's that this program has not answered; none is left when Python ends.

Such a call waits for rows from the JVM, which ends with this program. A thread that comes back from
there into a Python that is ending would complain, and from within C++ abort the process.
"""

from __future__ import annotations

import atexit
from typing import Final

from penstock.runtime.program_exit import StepsUnderWay
from penstock.spark.private_api import own_jvm

__all__ = ["unanswered_call"]

PATIENCE: Final = 10.0
"""Seconds for the JVM to end in good order, which removes its temporary files."""

_calls: Final = StepsUnderWay()

unanswered_call: Final = _calls.step
"""For as long as it takes to answer, on the thread that was called."""


@atexit.register
def await_answers() -> None:
    """Let the JVM end first, if there is a call: then that one fails, while Python still runs."""
    jvm = own_jvm() if _calls else None
    if jvm is None or jvm.stdin is None:
        return
    jvm.stdin.close()  # as it would with Python
    if not _calls.await_all(PATIENCE):
        jvm.kill()
        _calls.await_all(PATIENCE)
