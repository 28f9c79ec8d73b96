"""Values of Python in columns of Arrow.

``encoding.py``    from values to arrays, with no value changed on the way
``leaf_types.py``  which values without parts a type of Arrow holds as they are
"""

from penstock.arrow.encoding import Encoder, SchemaMismatch, columns_of, mismatch

__all__ = ["Encoder", "SchemaMismatch", "columns_of", "mismatch"]
