"""What is said of a full disk, unless somebody else listens."""

from __future__ import annotations

import logging

from penstock.spark.journal import NoSpace

__all__ = ["log_space"]

logger = logging.getLogger("penstock")


def log_space(full: NoSpace | None) -> None:
    """Say that the disk is full, or no longer is."""
    if full is None:
        logger.warning("there is space again: the stream goes on")
    else:
        logger.warning("%s; the stream waits until there is space", full)
