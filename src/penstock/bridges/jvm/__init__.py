"""Streams between Python and the JVM of the same process.

``from_jvm(publisher)`` makes a `Flow` of a publisher of Java, ``to_jvm(publisher)`` a publisher of
Java of one of Python. Demand crosses as it is, elements cross in chunks, and neither side runs on
threads of the other.

``crossing.py``    what users call
``machine.py``     the JVM, with our classes in it
``arrivals.py``    from Java: one stream, and the thread that takes its elements over
``departures.py``  to Java: one stream, and the two threads that serve its subscriber
``door.py``        the thread that learns of new subscribers in Java
``chunks.py``      elements, many at a time
``errors.py``      errors, both ways
``threads.py``     the threads of the bridge
``registry.py``    the Python objects that Java holds
``classes``        what runs on the other side
"""

try:
    import jpype as _jpype
except ImportError:
    raise ImportError("the bridge to the JVM needs JPype: pip install 'penstock[jvm]'") from None

from penstock.bridges.jvm.crossing import from_jvm, to_jvm
from penstock.bridges.jvm.errors import JavaError
from penstock.bridges.jvm.machine import class_path, start_jvm

__all__ = ["JavaError", "class_path", "from_jvm", "start_jvm", "to_jvm"]

del _jpype
