"""Checks of what callers hand in. Each raises InvalidArgument with the name, the value and what is legal."""

import difflib
import math
import operator
import pathlib
import re
import sys
from typing import Iterable, Tuple

import numpy as np

from isocenter.errors import AlreadyExists, InvalidArgument

MOST_PIXELS = 8192  # of a detector, per axis
MOST_FRAMES = 10000
# Larger frames do not fit into a message of any service.
MOST_FRAME_BYTES = 1 << 30
# Of line integrals, the median of a frame: no detector sees anything behind exp(-50), and detector counts are far above.
MOST_LINE_INTEGRAL = 50.0
PIXEL_TYPES = (np.dtype("<u2"), np.dtype("<f4"))


def illegal(name: str, value, legal: str) -> InvalidArgument:
    """The error of a value that is illegal."""
    return InvalidArgument(f"{name} is {value}; legal is {legal}")


def unused(file: pathlib.Path, overwrite: bool) -> None:
    """Whether the file may be written: data are never replaced silently. Raises AlreadyExists."""
    if not overwrite and file.exists():
        raise AlreadyExists(f"{file} is there already; legal is a name that is not, or overwrite=True")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """What ends an error of a name that there is not; empty where none is near."""
    near = difflib.get_close_matches(word, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""


def keywords(given: Iterable[str], legal: Iterable[str]) -> None:
    """Names of keyword arguments. Raises TypeError, as Python does, with the name that is near."""
    names = sorted(legal)
    for name in given:
        if name not in names:
            raise TypeError(f"unknown argument {name!r}; legal is one of {', '.join(names)}{did_you_mean(name, names)}")


def whole(name: str, value, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise illegal(name, repr(value), f"a whole number from {least} to {most}") from None
    if not least <= number <= most:
        raise illegal(name, number, f"{least} to {most}")
    return number


def real(name: str, value, least: float, most: float, above: bool = False) -> float:
    """A finite number from `least` to `most`; `above`: more than `least`."""
    legal = f"{'more than ' if above else ''}{least:g} {'and at most' if above else 'to'} {most:g}"
    try:
        number = float("" if isinstance(value, (str, bytes, bytearray)) else value)  # "1" is a text
    except (TypeError, ValueError):
        raise illegal(name, repr(value), f"a number, {legal}") from None
    if not math.isfinite(number) or not (least < number if above else least <= number) or number > most:
        raise illegal(name, f"{number:g}", legal)
    return number


def phase(name: str, value) -> float:
    """Of a cycle: 0 to less than 1, also as the float32 that is sent."""
    number = real(name, value, 0, 1)
    if np.float32(number) >= 1:
        raise illegal(name, f"{number:g}", "0 to less than 1")
    return number


def trace_parent(name: str, value) -> str:
    """A W3C traceparent; empty: none."""
    if value == "" or isinstance(value, str) and re.fullmatch(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", value):
        return value
    legal = "VERSION-TRACE-SPAN-FLAGS of 2, 32, 16 and 2 digits of 0-9 and a-f, e.g. 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    raise illegal(name, repr(value)[:100], legal)


def pitch(value) -> Tuple[float, float]:
    """Of pixels, along u and v: one number for both, or two."""
    both = value if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise illegal("pitch_mm", value, "one number, or two: along u, along v")
    along_u, along_v = (real("pitch_mm", one, 0, 10, above=True) for one in both)
    return along_u, along_v


def _is_array(name: str, array) -> None:
    if not isinstance(array, np.ndarray):
        raise illegal(name, f"of type {type(array).__name__}", "a numpy.ndarray")
    not_masked(name, array)


def not_masked(name: str, array) -> None:
    """That an array has no mask, which nothing here would heed."""
    if isinstance(array, np.ma.MaskedArray):
        raise illegal(name, "a masked array", f"one without a mask: {name}.filled(value), or {name}.data where the mask is of no account")


def finite(name: str, array: np.ndarray) -> None:
    """All of an array's values."""
    if np.isfinite(array).all():
        return
    at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    raise illegal(f"{name}[{', '.join(map(str, at))}]", array[at], "a finite number")


def line_integrals(name: str, frame: np.ndarray) -> None:
    """That a frame [row][column] is no frame of detector counts. Looks at some 16,000 of its pixels."""
    step = [max(1, size // 128) for size in frame.shape]
    if (median := float(np.median(frame[:: step[0], :: step[1]]))) > MOST_LINE_INTEGRAL:
        raise illegal(
            f"the median of {name}",
            f"{median:g}",
            f"up to {MOST_LINE_INTEGRAL:g} of line integrals (float32); detector counts are uint16, with i0_counts",
        )


def pixel_array(name: str, array, dimensions: str) -> np.ndarray:
    """What may be sent as it lies in memory. `dimensions`: their names, e.g. "rows, columns"."""
    _is_array(name, array)
    wanted = len(dimensions.split(","))
    if array.ndim != wanted:
        raise illegal(f"{name}.shape", array.shape, f"{wanted} dimensions ({dimensions})")
    if array.dtype not in PIXEL_TYPES or sys.byteorder != "little":
        raise illegal(
            f"{name}.dtype",
            array.dtype,
            "uint16 (detector counts) or float32 (line integrals), little-endian; convert with astype",
        )
    if not array.flags.c_contiguous:
        raise illegal(f"{name}.strides", array.strides, "those of a C-contiguous array; copy with numpy.ascontiguousarray")
    return array


def stack(frames) -> Tuple[int, int, int]:
    """(frames, rows, columns) of a stack of frames whose layout is legal. Looks at no pixel."""
    # Sizes come first: what is said of an array of terabytes is that it is one.
    _is_array("frames", frames)
    if frames.ndim == 3:
        for axis, most in (("frames", MOST_FRAMES), ("rows", MOST_PIXELS), ("columns", MOST_PIXELS)):
            whole(f"frames.shape, {axis},", frames.shape[("frames", "rows", "columns").index(axis)], 1, most)
        if (size := frames.nbytes // frames.shape[0]) > MOST_FRAME_BYTES:
            raise illegal("a frame's size", f"{size} bytes", f"up to {MOST_FRAME_BYTES}")
    pixel_array("frames", frames, "frames, rows, columns")
    return frames.shape


def matrices(values, count: int) -> np.ndarray:
    """[frame][3][4] float64, copied; those of another scale are legal."""
    not_masked("matrices", values)
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise illegal("matrices", f"of type {type(values).__name__}", "an array of numbers") from None
    if array.shape == (count, 12):
        array = array.reshape(count, 3, 4)
    if array.shape != (count, 3, 4):
        raise illegal("matrices.shape", array.shape, f"({count}, 3, 4): one 3x4 matrix per frame")
    finite("matrices", array)
    behind = np.flatnonzero(~(array[:, 2, 3] > 0))
    if len(behind):
        at = int(behind[0])
        raise illegal(f"w of matrices[{at}] at the isocentre (row 2, column 3)", array[at, 2, 3], "above 0")
    return array
