"""The Java of this machine: found, and given what it needs to run code of ours.

``installed_java.py``   finds it
``packaged_java.py``    that of a Python package, where the machine has none
``library.py``          files of others, fetched once and verified by their checksums
``compilation.py``      source files of ours, compiled when they are first needed
``cache.py``            where all of it is kept
"""

from penstock.java.compilation import classes
from penstock.java.installed_java import OLDEST, Java, find_java
from penstock.java.library import Library, read_checksums
from penstock.java.packaged_java import find_runtime, java_home
from penstock.java.problem import JavaUnavailable

__all__ = [
    "OLDEST",
    "Java",
    "JavaUnavailable",
    "Library",
    "classes",
    "find_java",
    "find_runtime",
    "java_home",
    "read_checksums",
]
