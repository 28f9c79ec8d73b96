"""The outside judge: the official Java kit of Reactive Streams, unmodified, on Python objects.

``verify_publisher(factory)`` and its like take what their namesakes in `penstock.tck` take, and
return the same `Report`. On the command line: ``penstock tck --jvm module:factory``. They need a
JDK, the extra ``jvm``, and the network when the kit is used for the first time.

``verify.py``           what users call
``court.py``            starts the process of the kit, keeps the time, writes the reports
``hearing.py``          that process: runs the JVM, and the tests
``subject.py``          whom it judges
``answers.py``          makes the parties that the kit asks for
``crossing.py``         wraps parties, elements and errors both ways
``official_tests.py``   the tests of the kit, and the rules that they are about
``official_kit.py``     the files of the kit
``OutsideJudge.java``   has the kit run by Python
"""

from penstock.tck.jvm.verify import (
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
