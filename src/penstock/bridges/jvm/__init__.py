"""Streams between Python and the JVM of the same process.

``adapters.py``     publishers of Java for Python, and of Python for Java
``from_java.py``    a stream from Java: what its publisher sends, taken over by a thread of Python
``to_java.py``      a stream to Java: what a publisher of Python sends, handed over by threads of
                    Python
``chunks.py``       elements that cross together, by columns: a crossing costs as much for one as
                    for many
``subscribers.py``  the thread that learns of new subscribers in Java, and of objects that Java no
                    longer needs
``registry.py``     the Python objects that Java holds, by their identity, as long as it does
``threads.py``      the threads of the bridge, which wait in Java and have to be back before Python
                    ends
``errors.py``       errors both ways; one that crosses twice is the same one again
``jvm_process.py``  the JVM of this process, with our classes in it
"""

try:
    import jpype as _jpype
except ImportError:
    raise ImportError("the bridge to the JVM needs JPype: pip install 'penstock[jvm]'") from None

from penstock.bridges.jvm.adapters import from_jvm, to_jvm
from penstock.bridges.jvm.errors import JavaError
from penstock.bridges.jvm.jvm_process import class_path, start_jvm

__all__ = ["JavaError", "class_path", "from_jvm", "start_jvm", "to_jvm"]

del _jpype
