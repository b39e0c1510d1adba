"""Arrays at the border: handed over as they lie in memory, or refused with what is legal."""

from typing import Optional, Tuple

import numpy as np

from isocenter import checks
from isocenter.errors import ResourceExhausted

FLOAT32, UINT16 = np.dtype("<f4"), np.dtype("<u2")
Shape = Tuple[int, ...]


def given(name: str, array: np.ndarray, shape: Shape, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """An array of this shape and type that is dense and aligned. Nothing is converted, and no element looked at."""
    # Sizes come first: what is said of an array of terabytes is that it is one.
    if isinstance(array, np.ndarray) and array.shape != shape:
        raise checks.illegal(f"{name}.shape", array.shape, str(shape))
    if isinstance(array, np.ndarray) and array.dtype != dtype:
        raise checks.illegal(f"{name}.dtype", array.dtype, f"{dtype}; convert with astype")
    checks.pixel_array(name, array, ", ".join("x" * len(shape)))
    if not array.flags.aligned:
        raise checks.illegal(f"{name}", "at an address that is not a multiple of its elements' size", "an aligned array, e.g. a copy")
    return array


def room(name: str, out: Optional[np.ndarray], shape: Shape, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """Where a result goes: the caller's array, or a new one."""
    if out is None:
        try:
            return np.empty(shape, dtype)
        except MemoryError:
            size = int(np.prod(shape, dtype=object)) * dtype.itemsize
            raise ResourceExhausted(f"{name} needs {size} bytes of memory, which are not there") from None
    given(name, out, shape, dtype)
    if not out.flags.writeable:
        raise checks.illegal(name, "read-only", "an array that may be written")
    return out
