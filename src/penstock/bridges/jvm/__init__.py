"""Streams between Python and the JVM of the same process.

``adapters.py``     publishers of Java for Python, and of Python for Java
``from_java.py``    a stream from Java: what its publisher sends, taken over by a thread of Python
``to_java.py``      a stream to Java, for each subscriber there: what a publisher of Python sends,
                    on own threads
``conversion.py``   what crosses between Python and Java: elements by columns, errors, and objects
                    that are held
``jvm_process.py``  the JVM of this process, with our classes in it, and the threads that wait there
"""

try:
    import jpype as _jpype
except ImportError:
    raise ImportError("the bridge to the JVM needs JPype: pip install 'penstock[jvm]'") from None

from penstock.bridges.jvm.adapters import from_jvm, to_jvm
from penstock.bridges.jvm.conversion import JavaError
from penstock.bridges.jvm.jvm_process import class_path, start_jvm

__all__ = ["JavaError", "class_path", "from_jvm", "start_jvm", "to_jvm"]

del _jpype
