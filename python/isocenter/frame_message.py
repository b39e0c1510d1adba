"""One frame as the bytes of an AcquireRequest, with one copy of its pixels."""

from typing import Optional

import numpy as np

from isocenter.crc32c import crc32c
from isocenter.v1 import acquisition_pb2

_LENGTH_DELIMITED = 2


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(message, field: str, wire_type: int) -> bytes:
    return _varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type)


def frame_message(index: int, pixels: np.ndarray, measured: Optional[np.ndarray], dose: float,
                  phase: Optional[float] = None) -> bytes:
    """The same bytes as AcquireRequest.SerializeToString() of a frame with these fields and the CRC-32C of its pixels, where
    Protobuf would copy them three times. `pixels`: C-contiguous, little-endian."""
    # Protobuf writes fields in the order of their numbers: index and pixels come first, and what follows them is the message that
    # has neither.
    rest = acquisition_pb2.Frame(crc32c=crc32c(pixels), has_checksum=True)
    if measured is not None:
        rest.measured_matrix.value.extend(measured.ravel().tolist())
    if dose:
        rest.dose = dose
    if phase is not None:
        rest.phase = phase
    suffix = rest.SerializeToString()
    head = _tag(rest, "index", 0) + _varint(index) if index else b""
    head += _tag(rest, "pixels", _LENGTH_DELIMITED) + _varint(pixels.nbytes)
    prefix = _tag(acquisition_pb2.AcquireRequest, "frame", _LENGTH_DELIMITED)
    prefix += _varint(len(head) + pixels.nbytes + len(suffix))
    return b"".join((prefix, head, pixels.data.cast("B"), suffix))
