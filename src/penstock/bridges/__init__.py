"""Streams from and to other runtimes, each in a package that is imported by its name.

``jvm/``  streams between Python and the JVM of the same process
"""

__all__: list[str] = []
