"""What a service tells while it reconstructs."""

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

import numpy as np

from isocenter.errors import DataLoss
from isocenter.v1 import jobs_pb2

_MOST_PLANE_PIXELS = 4096 * 4096


def enum_word(kind, number: int, prefix: str) -> str:
    """The name of an enum's value without its prefix, in small letters; of one that this version does not know, its number."""
    value = kind.DESCRIPTOR.values_by_number.get(number)
    return value.name[len(prefix) :].lower() if value else str(number)


@dataclass(frozen=True)
class JobWarning:
    """Something that the operator should know. kind: e.g. "saturated_detector"; frame_index: where it was noticed, if anywhere."""

    kind: str
    text: str
    frame_index: Optional[int]

    @classmethod
    def from_proto(cls, proto: jobs_pb2.JobWarning) -> "JobWarning":
        """From the wire."""
        kind = enum_word(jobs_pb2.WarningKind, proto.kind, "WARNING_KIND_")
        return cls(kind, proto.text, proto.frame_index if proto.HasField("frame_index") else None)


@dataclass(frozen=True)
class Plane:
    """hounsfield: int16 [row][column]. spacing_mm: (of rows, of columns)."""

    hounsfield: np.ndarray
    spacing_mm: Tuple[float, float]


@dataclass(frozen=True)
class Preview:
    """Three planes through the middle of the volume so far. planes: "axial" [y][x], "coronal" [z][x], "sagittal" [z][y]."""

    frames_backprojected: int
    planes: Dict[str, Plane]

    @classmethod
    def from_proto(cls, proto: jobs_pb2.Preview) -> "Preview":
        """From the wire. DataLoss: a plane's bytes are not what its size needs."""
        planes = {}
        for plane in proto.plane:
            name = enum_word(jobs_pb2.PlaneOrientation, plane.orientation, "PLANE_ORIENTATION_")
            pixels = plane.rows * plane.columns
            if pixels > _MOST_PLANE_PIXELS or len(plane.hounsfield) != 2 * pixels:
                raise DataLoss(
                    f"the server sent {len(plane.hounsfield)} bytes for a {name} plane of {plane.rows}x{plane.columns} pixels"
                )
            hounsfield = np.frombuffer(plane.hounsfield, "<i2").reshape(plane.rows, plane.columns)
            planes[name] = Plane(hounsfield, (plane.row_spacing_mm, plane.column_spacing_mm))
        return cls(proto.frames_backprojected, planes)


@dataclass(frozen=True)
class Progress:
    """How far a job is. state: e.g. "receiving". refined_fraction: 0 to 1, of all iterations or of a second pass."""

    state: str
    frames_received: int
    frames_backprojected: int
    frames_total: int
    frames_lost: int
    refined_fraction: float

    @classmethod
    def from_proto(cls, proto: jobs_pb2.JobProgress) -> "Progress":
        """From the wire."""
        return cls(
            enum_word(jobs_pb2.JobState, proto.state, "JOB_STATE_"),
            *(proto.frames_received, proto.frames_backprojected, proto.frames_total, proto.frames_lost, proto.refined_fraction),
        )
