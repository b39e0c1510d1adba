"""Detectors, orbits and grids. Millimetres; the world is right-handed, its origin the isocentre, z along the rotation axis."""

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple, TypeVar

import numpy as np

from isocenter import checks
from isocenter.v1 import geometry_pb2

_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
# For each Patient Position of DICOM (PS3.3, C.7.3.1.1.2), the patient's left, back and head in the world, which is fixed to the table: of
# a patient who lies HFS its x points to the left, y to the back, z to the head.
_PATIENT_AXES = {
    "HFS": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "HFP": ((-1, 0, 0), (0, -1, 0), (0, 0, 1)),
    "HFDR": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
    "HFDL": ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    "FFS": ((-1, 0, 0), (0, 1, 0), (0, 0, -1)),
    "FFP": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "FFDR": ((0, -1, 0), (-1, 0, 0), (0, 0, -1)),
    "FFDL": ((0, 1, 0), (1, 0, 0), (0, 0, -1)),
}
_AFFINE_TOLERANCE = 1e-4  # what files of float32 leave of a rotation


_Number = TypeVar("_Number", int, float)


def triple(values: Sequence[_Number]) -> Tuple[_Number, _Number, _Number]:
    """Three numbers, along x, y and z."""
    x, y, z = values
    return x, y, z


@dataclass(frozen=True)
class CircularOrbit:
    """An ideal circular orbit around z, which the service expands.

    The source is at source_to_isocenter_mm * (cos a, sin a, 0); u runs along (-sin a, cos a, 0), v along -z. `arc_deg` is the signed
    angle from the first to the last frame, not 0. `offset_*_px`: the principal point relative to the detector's
    middle. Raises InvalidArgument.
    """

    source_to_isocenter_mm: float
    source_to_detector_mm: float
    arc_deg: float
    start_angle_deg: float = 0.0
    offset_u_px: float = 0.0
    offset_v_px: float = 0.0

    def __post_init__(self):
        near = checks.real("source_to_isocenter_mm", self.source_to_isocenter_mm, 100, 10000)
        checks.real("source_to_detector_mm", self.source_to_detector_mm, near, 10 * near, above=True)
        if checks.real("arc_deg", self.arc_deg, -720, 720) == 0:
            raise checks.illegal("arc_deg", 0, "-720 to 720 but 0, from which all frames would be the same")
        for name in ("start_angle_deg", "offset_u_px", "offset_v_px"):
            checks.real(name, getattr(self, name), -1e6, 1e6)

    def to_proto(self) -> geometry_pb2.CircularTrajectory:
        """As the wire has it."""
        return geometry_pb2.CircularTrajectory(**{name: float(value) for name, value in vars(self).items()})


def circular_matrices(orbit: CircularOrbit, frames: int, rows: int, columns: int, pitch_mm: float) -> np.ndarray:
    """The matrices of an ideal orbit, [frame][3][4] float64, as the service makes them.

    Frame i is at start + i * arc / (frames - 1).
    """
    angle = np.radians(orbit.start_angle_deg + orbit.arc_deg * np.arange(frames) / max(1, frames - 1))
    cos, sin, zero = np.cos(angle), np.sin(angle), np.zeros(frames)
    focal = orbit.source_to_detector_mm / checks.real("pitch_mm", pitch_mm, 0, 10, above=True)
    u_axis = np.stack([-sin, cos, zero], 1)
    v_axis = np.tile([0.0, 0.0, -1.0], (frames, 1))
    depth = np.stack([-cos, -sin, zero], 1)  # from the source to the isocentre
    principal_u = 0.5 * (columns - 1) + orbit.offset_u_px
    principal_v = 0.5 * (rows - 1) + orbit.offset_v_px
    left = np.stack([focal * u_axis + principal_u * depth, focal * v_axis + principal_v * depth, depth], 1)
    source = -orbit.source_to_isocenter_mm * depth
    right = -np.einsum("fij,fj->fi", left, source)
    return np.concatenate([left, right[:, :, None]], 2) / orbit.source_to_isocenter_mm


@dataclass(frozen=True)
class Grid:
    """A regular grid of voxels.

    size: voxels along x, y, z, 1 to 4096 each. spacing_mm: their distances. origin_mm: the centre of voxel (0, 0, 0); None: the grid
    is centred at the isocentre. direction: 3x3, whose columns are the unit vectors of the index axes. Raises InvalidArgument.
    """

    size: Tuple[int, int, int]
    spacing_mm: Tuple[float, float, float]
    origin_mm: Optional[Tuple[float, float, float]] = None
    direction: Tuple[Tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self):
        for name, length in (("size", 3), ("spacing_mm", 3), ("origin_mm", 3), ("direction", 3)):
            value = getattr(self, name)
            if value is not None and (not hasattr(value, "__len__") or len(value) != length):
                raise checks.illegal(f"grid.{name}", repr(value), f"{length} values")
        for axis in range(3):
            checks.whole(f"grid.size[{axis}]", self.size[axis], 1, 4096)
            checks.real(f"grid.spacing_mm[{axis}]", self.spacing_mm[axis], 0.0001, 100)
            if self.origin_mm is not None:
                checks.real(f"grid.origin_mm[{axis}]", self.origin_mm[axis], -1e6, 1e6)
        cosines = np.array(self.direction, np.float64)
        if cosines.shape != (3, 3) or not np.allclose(cosines.T @ cosines, np.eye(3), atol=1e-5):
            raise checks.illegal("grid.direction", self.direction, "3x3, its columns perpendicular unit vectors")

    @classmethod
    def cube(cls, size: int, spacing_mm: float) -> "Grid":
        """A cube of size^3 voxels, centred at the isocentre."""
        return cls((size,) * 3, (spacing_mm,) * 3)

    @classmethod
    def from_proto(cls, proto: geometry_pb2.VolumeGrid) -> "Grid":
        """From the wire."""
        flat: Sequence[float] = proto.direction or np.eye(3).ravel().tolist()
        if len(flat) != 9:
            raise checks.illegal("grid.direction", f"a list of {len(flat)}", "9 values, or none")
        return cls(
            (proto.nx, proto.ny, proto.nz),
            (proto.spacing_x_mm, proto.spacing_y_mm, proto.spacing_z_mm),
            None if proto.centered else (proto.origin_x_mm, proto.origin_y_mm, proto.origin_z_mm),
            tuple(tuple(flat[3 * row : 3 * row + 3]) for row in range(3)),
        )

    def to_proto(self) -> geometry_pb2.VolumeGrid:
        """As the wire has it."""
        proto = geometry_pb2.VolumeGrid(centered=self.origin_mm is None)
        proto.nx, proto.ny, proto.nz = self.size
        proto.spacing_x_mm, proto.spacing_y_mm, proto.spacing_z_mm = self.spacing_mm
        if self.origin_mm is not None:
            proto.origin_x_mm, proto.origin_y_mm, proto.origin_z_mm = self.origin_mm
        proto.direction.extend(float(value) for row in self.direction for value in row)
        return proto

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(nz, ny, nx): of the array of its voxels."""
        return self.size[2], self.size[1], self.size[0]

    def affine(self) -> np.ndarray:
        """4x4 float64: (x, y, z, 1) in mm of an index (i, j, k, 1) along x, y, z; integers are voxel centres."""
        scaled = np.array(self.direction, np.float64) * np.array(self.spacing_mm, np.float64)
        origin = -scaled @ (0.5 * (np.array(self.size) - 1)) if self.origin_mm is None else np.array(self.origin_mm)
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = scaled, origin
        return result

    def affine_ras(self) -> np.ndarray:
        """As affine, with x to the right and y to the front, as NIfTI and nibabel have it, where affine is LPS as DICOM."""
        return _LPS_TO_RAS @ self.affine()

    @classmethod
    def from_affine(cls, affine: np.ndarray, size: Sequence[int]) -> "Grid":
        """Of a 4x4 matrix that maps (i, j, k, 1) to LPS millimetres, and the voxels along i, j, k. Raises InvalidArgument (axes that are
        not perpendicular, which no grid has)."""
        matrix = np.array(affine, np.float64)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or not np.array_equal(matrix[3], [0, 0, 0, 1]):
            raise checks.illegal("affine", matrix.tolist(), "a finite 4x4 matrix whose last row is 0 0 0 1")
        spacing = np.linalg.norm(matrix[:3, :3], axis=0)
        if not spacing.all():
            raise checks.illegal("affine", matrix.tolist(), "one whose columns are not zero")
        axes = matrix[:3, :3] / spacing
        if not np.allclose(axes.T @ axes, np.eye(3), atol=_AFFINE_TOLERANCE):
            raise checks.illegal("affine", matrix.tolist(), "one with perpendicular axes: no shear")
        u, _, v = np.linalg.svd(axes)  # the nearest rotation
        direction = tuple(tuple(row) for row in (u @ v).tolist())
        return cls(triple(size), triple(spacing.tolist()), triple(matrix[:3, 3].tolist()), direction)

    @classmethod
    def from_affine_ras(cls, affine: np.ndarray, size: Sequence[int]) -> "Grid":
        """As from_affine, of a matrix to RAS millimetres, as NIfTI and nibabel have it."""
        return cls.from_affine(_LPS_TO_RAS @ np.array(affine, np.float64), size)

    def in_patient(self, position: str) -> "Grid":
        """The same voxels in the axes of a patient who lies so on the table ("HFS", "FFP" ..), of a grid in the world's, as those of
        isocenter.local are. What the service sends is in the patient's axes already."""
        if position not in _PATIENT_AXES:
            raise checks.illegal("position", repr(position), ", ".join(_PATIENT_AXES))
        turn = np.eye(4)
        turn[:3, :3] = _PATIENT_AXES[position]
        return Grid.from_affine(turn @ self.affine() + 0.0, self.size)

    def image_position_patient(self, k: int = 0) -> Tuple[float, ...]:
        """DICOM's (0020,0032) of slice k: LPS millimetres of its first voxel."""
        checks.whole("k", k, 0, self.size[2] - 1)
        return tuple((self.affine() @ [0, 0, k, 1])[:3].tolist())

    @property
    def image_orientation_patient(self) -> Tuple[float, ...]:
        """DICOM's (0020,0037) of its slices: the directions along a row and down a column."""
        return tuple(float(row[axis]) for axis in (0, 1) for row in self.direction)

    @property
    def pixel_spacing(self) -> Tuple[float, float]:
        """DICOM's (0028,0030): millimetres from row to row, and from column to column."""
        return self.spacing_mm[1], self.spacing_mm[0]
