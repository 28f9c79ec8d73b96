"""Streams from and to other runtimes, each in a package that is imported by its name.

``jvm``  Java, in the same process: ``java.util.concurrent.Flow`` and ``org.reactivestreams``
"""

__all__: list[str] = []
