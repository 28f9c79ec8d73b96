"""The standard's own examples: small, conformant, and meant to be read and started from.

``iterable_publisher.py``  a publisher over an iterable, on the calling thread or on an executor
"""

from penstock.examples.iterable_publisher import ExecutorPublisher, IterablePublisher

__all__ = ["ExecutorPublisher", "IterablePublisher"]
