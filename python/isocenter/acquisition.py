"""What is known of an acquisition before its first frame."""

import dataclasses
from dataclasses import dataclass, field
from collections.abc import Mapping
from typing import Optional, Tuple, Union

import numpy as np

from isocenter import checks
from isocenter.geometry import CircularOrbit, Grid
from isocenter.v1 import acquisition_pb2, jobs_pb2

_CLASSES = {
    "live": jobs_pb2.JOB_CLASS_LIVE,
    "interactive": jobs_pb2.JOB_CLASS_INTERACTIVE,
    "batch": jobs_pb2.JOB_CLASS_BATCH,
}


@dataclass(frozen=True)
class Acquisition:
    """Detector, trajectory and patient of one acquisition. Raises InvalidArgument; looks at every value before anything is sent.

    frame_count: 1 to 10000. rows, columns: of the detector as it is sent, 1 to 8192. pitch_mm: distance of its pixels, one number or
    (along u, along v).
    trajectory: an array [frame][3][4] of projection matrices, which map world millimetres to pixels, (u*w, v*w, w) = P (x, y, z, 1),
    integers being pixel centres, w above 0 at the isocentre; or a CircularOrbit; or None: matrices that the service keeps.
    dtype: uint16 (counts, with i0_counts, those of an unattenuated pixel, 1 to 65535) or float32 (line integrals).
    grid: None: as the protocol says. protocol: empty: the service's default. patient: fields of PatientStudy, e.g. patient_name.
    job_class: who is served first: live, interactive or batch.
    header: an AcquisitionHeader with all else that the contract knows; fields that are given here replace those in it.
    """

    frame_count: int
    rows: int
    columns: int
    pitch_mm: Union[float, Tuple[float, float]]
    trajectory: Union[np.ndarray, CircularOrbit, None]
    dtype: Union[np.dtype, type, str] = "float32"
    i0_counts: Optional[float] = None
    grid: Optional[Grid] = None
    protocol: str = ""
    station_name: str = ""
    patient: Mapping[str, str] = field(default_factory=dict)
    job_class: str = "live"
    header: Optional[acquisition_pb2.AcquisitionHeader] = None

    def __post_init__(self):
        set_field = object.__setattr__
        checks.whole("frame_count", self.frame_count, 1, checks.MOST_FRAMES)
        checks.whole("rows", self.rows, 1, checks.MOST_PIXELS)
        checks.whole("columns", self.columns, 1, checks.MOST_PIXELS)
        set_field(self, "pitch_mm", checks.pitch(self.pitch_mm))
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            raise checks.illegal("dtype", repr(self.dtype), "uint16 or float32") from None
        if dtype not in checks.PIXEL_TYPES:
            raise checks.illegal("dtype", dtype, "uint16 (detector counts) or float32 (line integrals)")
        set_field(self, "dtype", dtype)
        if self.is_counts:
            checks.real("i0_counts, which counts need,", self.i0_counts, 1, 65535)
        if self.trajectory is not None and not isinstance(self.trajectory, CircularOrbit):
            set_field(self, "trajectory", checks.matrices(self.trajectory, self.frame_count))
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise checks.illegal("grid", repr(self.grid), "a Grid, e.g. Grid.cube(256, 0.9), or None: as the protocol says")
        if self.job_class not in _CLASSES:
            raise checks.illegal("job_class", repr(self.job_class), " or ".join(_CLASSES))
        self.to_proto()  # the names and types of what is left

    @classmethod
    def of(cls, frames: np.ndarray, trajectory, pitch_mm, **fields) -> "Acquisition":
        """That of a stack [frame][row][column], uint16 or float32; `fields` as of the class."""
        count, rows, columns = checks.stack(frames)
        own = ("frame_count", "rows", "columns", "pitch_mm", "trajectory", "dtype")
        checks.keywords(fields, (known.name for known in dataclasses.fields(cls) if known.name not in own))
        return cls(count, rows, columns, pitch_mm, trajectory, frames.dtype, **fields)

    @property
    def is_counts(self) -> bool:
        """Detector counts, not line integrals."""
        return np.dtype(self.dtype).kind == "u"

    def to_proto(self) -> acquisition_pb2.AcquisitionHeader:
        """As the wire has it."""
        proto = acquisition_pb2.AcquisitionHeader()
        if self.header is not None:
            proto.CopyFrom(self.header)
        proto.frame_count = self.frame_count
        detector = proto.detector
        detector.rows, detector.columns = self.rows, self.columns
        detector.pitch_u_mm, detector.pitch_v_mm = checks.pitch(self.pitch_mm)
        if self.is_counts:
            proto.pixel_type, proto.i0_counts = acquisition_pb2.PIXEL_TYPE_UINT16_COUNTS, float(self.i0_counts or 0)
        else:
            proto.pixel_type = acquisition_pb2.PIXEL_TYPE_FLOAT32_LINE_INTEGRALS
        if isinstance(self.trajectory, CircularOrbit):
            proto.circular.CopyFrom(self.trajectory.to_proto())
        elif self.trajectory is not None:
            del proto.matrices.matrix[:]
            for matrix in self.trajectory:
                proto.matrices.matrix.add().value.extend(matrix.ravel().tolist())
        if self.grid is not None:
            proto.grid.CopyFrom(self.grid.to_proto())
        for name in ("protocol", "station_name"):
            self._set_text(proto, name, getattr(self, name))
        if not isinstance(self.patient, Mapping):
            raise checks.illegal("patient", repr(self.patient), 'fields of PatientStudy by name, e.g. {"patient_name": "Doe^Jane"}')
        for name, value in self.patient.items():
            if name not in jobs_pb2.PatientStudy.DESCRIPTOR.fields_by_name:
                legal = ", ".join(jobs_pb2.PatientStudy.DESCRIPTOR.fields_by_name)
                raise checks.illegal("a field of patient", repr(name), legal)
            self._set_text(proto.patient_study, name, value)
        if self.job_class != "live" or self.header is None:
            proto.job_class = _CLASSES[self.job_class]
        return proto

    @staticmethod
    def _set_text(message, name: str, value) -> None:
        if not isinstance(value, str):
            raise checks.illegal(name, repr(value), "a str")
        if value:
            setattr(message, name, value)
