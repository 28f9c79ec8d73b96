"""When a query is started again that has lost a worker, or could not write its files."""

from __future__ import annotations

import logging
from typing import Final

from penstock.spark.failures import OutOfSpace, WorkerLost

__all__ = ["PAUSES", "Retries"]

PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The seconds before a query is started again that lost a worker."""
SPACE_PAUSE: Final = 2.0
"""The seconds before a query is started again that could not write."""

logger = logging.getLogger("penstock")


class Retries:
    """Counts the starts of the query of a pipeline, and says so.

    ``restarts``  how often it was started again since it had lost a worker
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tries = 0
        self._full: OutOfSpace | None = None
        self.restarts = 0

    @property
    def is_out_of_space(self) -> bool:
        """Whether nothing was done since the query could not write."""
        return self._full is not None

    def progressed(self) -> None:
        """A batch is done: what was before does not count any more."""
        self._tries = 0
        if self._full is not None:
            self._full = None
            logger.warning("%s: there is space again", self._name)

    def pause_after(self, failure: WorkerLost | OutOfSpace) -> float:
        """The seconds to wait; raises the failure itself after too many lost workers.

        A full disk is waited for however long that takes, as the journal does.
        """
        if isinstance(failure, OutOfSpace):
            if self._full is None:
                logger.warning("%s: %s; goes on when there is", self._name, failure)
            self._full = failure
            return SPACE_PAUSE
        if self._tries == len(PAUSES):
            raise failure
        self._tries += 1
        self.restarts += 1
        logger.warning("%s: %s; goes on from the checkpoint", self._name, failure)
        return PAUSES[self._tries - 1]
