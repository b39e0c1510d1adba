"""CRC-32C (Castagnoli) of frames: by Debian's libisal2 where it is, else by NumPy."""

import ctypes
import functools

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_LARGEST_RUN = 1 << 30  # the library counts in int
_LANE_BYTES = 1024


@functools.lru_cache(maxsize=None)
def _library():
    """crc32_iscsi of ISA-L, or None where it is not installed."""
    try:
        function = ctypes.CDLL("libisal.so.2").crc32_iscsi
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint)
    function.restype = ctypes.c_uint
    return function


@functools.lru_cache(maxsize=None)
def _table() -> np.ndarray:
    """What a byte makes of the register."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


def _lanes(block: np.ndarray) -> np.ndarray:
    """The register after each row of [lane][byte], from zero."""
    table, state = _table(), np.zeros(len(block), np.uint32)
    for byte in np.ascontiguousarray(block.T):
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


@functools.lru_cache(maxsize=None)
def _skip() -> np.ndarray:
    """[4][256]: what _LANE_BYTES zero bytes make of each byte of the register; the step is linear in its bits."""
    state = (np.arange(256, dtype=np.uint32)[None, :] << (8 * np.arange(4, dtype=np.uint32))[:, None]).ravel()
    table = _table()
    for _ in range(_LANE_BYTES):
        state = table[state & 0xFF] ^ (state >> 8)
    return state.reshape(4, 256)


def by_numpy(data: np.ndarray) -> int:
    """As crc32c, without the library: lanes of 1 KiB side by side, then one after the other."""
    state, whole = 0xFFFFFFFF, len(data) // _LANE_BYTES
    skip = _skip().tolist()
    for lane in _lanes(data[: whole * _LANE_BYTES].reshape(whole, _LANE_BYTES)).tolist():
        moved = skip[0][state & 0xFF] ^ skip[1][state >> 8 & 0xFF] ^ skip[2][state >> 16 & 0xFF] ^ skip[3][state >> 24]
        state = moved ^ lane
    table = _table().tolist()
    for byte in data[whole * _LANE_BYTES :].tolist():
        state = table[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def crc32c(array: np.ndarray) -> int:
    """The checksum of a C-contiguous array's bytes as they are in memory."""
    library = _library()
    if library is None:
        return by_numpy(array.reshape(-1).view(np.uint8))
    state, address, left = 0xFFFFFFFF, array.ctypes.data, array.nbytes
    while left:
        run = min(left, _LARGEST_RUN)
        state = library(address, run, state)
        address, left = address + run, left - run
    return state ^ 0xFFFFFFFF
