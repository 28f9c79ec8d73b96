"""Delivery to the last row: what a sink promises, and by what it tells the batches that it has.

``contract.py``  ``BatchSink``: a sink that is given whole batches, and its level of delivery
``epoch.py``     ``Epoch``: the life of a checkpoint, against which a sink compares what it has
"""

from penstock.delivery.contract import BatchSink, Level
from penstock.delivery.epoch import DeliveryRefused, Epoch, RunStart

__all__ = ["BatchSink", "DeliveryRefused", "Epoch", "Level", "RunStart"]
