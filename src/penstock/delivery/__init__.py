"""Delivery to the last row: what a sink promises, and by what it tells the batches that it has.

``contract.py``       ``BatchSink``: a sink that is given whole batches, and its level of delivery;
                      ``DataFrameSink``: one that Spark serves
``levels.py``         ``level_of``: the level of any sink
``epoch.py``          ``Epoch``: the life of a checkpoint, against which a sink compares what it has
``progress.py``       ``BatchProgress``: which batches a sink has
``transactional.py``  ``TransactionalSink``: rows and mark in one transaction
"""

from penstock.delivery.contract import BatchSink, DataFrameSink, Level
from penstock.delivery.epoch import DeliveryRefused, Epoch, RunStart
from penstock.delivery.levels import level_of
from penstock.delivery.progress import BatchProgress
from penstock.delivery.transactional import TransactionalSink

__all__ = [
    "BatchProgress",
    "BatchSink",
    "DataFrameSink",
    "DeliveryRefused",
    "Epoch",
    "Level",
    "RunStart",
    "TransactionalSink",
    "level_of",
]
