"""The outside judge: the official Java kit of Reactive Streams, unmodified, on Python objects.

``runner.py``        the official kit from code: judges subjects in a process of its own, and writes
                     the reports
``worker.py``        the process in which a JVM runs and the official kit judges subjects, one after
                     the other
``answers.py``       what the official kit asks of a subject while it judges, answered in Python
``crossing.py``      wraps the parties of a stream both ways, so that Python and Java can be each
                     other's peers
``official_kit.py``  the official kit: its files, its tests with their rules, and what it can judge
"""

from penstock.tck.jvm.runner import (
    verify_processor,
    verify_publisher,
    verify_subscriber,
    verify_subscriber_whitebox,
)

__all__ = [
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
    "verify_subscriber_whitebox",
]
