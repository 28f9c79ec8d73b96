"""Delivery to the last row: what a sink promises, and by what it tells the batches that it has.

``contract.py``       what a sink promises of the rows that it is given, and how it is told where a
                      batch ends
``epoch.py``          the life of a checkpoint, so that a sink can tell a batch that it has from
                      another of its number
``held_rows.py``      how many rows a sink may hold, be they small or large
``transactional.py``  the base of sinks that store rows and the number of their batch in one
                      transaction
"""

from penstock.delivery.contract import BatchSink, DataFrameSink, Level, level_of
from penstock.delivery.epoch import BatchesLost, BatchProgress, DeliveryRefused, Epoch, RunStart
from penstock.delivery.held_rows import HeldRows
from penstock.delivery.transactional import TransactionalSink

__all__ = [
    "BatchProgress",
    "BatchSink",
    "BatchesLost",
    "DataFrameSink",
    "DeliveryRefused",
    "Epoch",
    "HeldRows",
    "Level",
    "RunStart",
    "TransactionalSink",
    "level_of",
]
