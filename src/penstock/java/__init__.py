"""The Java of this machine: found, and given what it needs to run code of ours.

``installed_java.py``   finds it
``library.py``          files of others, fetched once and verified by their checksums
``compilation.py``      source files of ours, compiled when they are first needed
``cache.py``            where all of it is kept
"""

from penstock.java.compilation import classes
from penstock.java.installed_java import OLDEST, Java, find_java
from penstock.java.library import Library, read_checksums
from penstock.java.problem import JavaUnavailable

__all__ = [
    "OLDEST",
    "Java",
    "JavaUnavailable",
    "Library",
    "classes",
    "find_java",
    "read_checksums",
]
