"""Values of Python in columns of Arrow, and such columns with other types; no value is changed.

``encoding.py``    from values to arrays
``casting.py``     from a column to one of another type
``leaf_types.py``  which values without parts a type of Arrow holds as they are
"""

from penstock.arrow.casting import cast_exactly
from penstock.arrow.encoding import Encoder, SchemaMismatch, columns_of, mismatch

__all__ = ["Encoder", "SchemaMismatch", "cast_exactly", "columns_of", "mismatch"]
