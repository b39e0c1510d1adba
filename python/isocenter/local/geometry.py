"""A flat detector and the matrices of its views."""

import ctypes
from dataclasses import dataclass
from typing import Any, Tuple, Union

import numpy as np

from isocenter import checks
from isocenter.geometry import CircularOrbit, Grid, circular_matrices, triple
from isocenter.local import _library


@dataclass(frozen=True, eq=False)
class Geometry:
    """What is known of a scan but for its pixels.

    matrices: [view][3][4], one for each view, or a CircularOrbit with `views`; (u*w, v*w, w) = P (x, y, z, 1), millimetres to pixels,
    integers are pixel centres, w above 0 at the isocentre, of any scale. rows, columns: 1 to 8192. pitch_mm: of the pixels, one number or
    (along u, along v). Raises InvalidArgument.
    """

    matrices: np.ndarray
    rows: int
    columns: int
    pitch_mm: Union[float, Tuple[float, float]]

    def __post_init__(self):
        checks.whole("rows", self.rows, 1, checks.MOST_PIXELS)
        checks.whole("columns", self.columns, 1, checks.MOST_PIXELS)
        object.__setattr__(self, "pitch_mm", checks.pitch(self.pitch_mm))
        if not hasattr(self.matrices, "__len__"):
            raise checks.illegal("matrices", f"of type {type(self.matrices).__name__}", "an array [view][3][4]")
        views = checks.whole("the number of matrices", len(self.matrices), 1, checks.MOST_FRAMES)
        matrices = np.ascontiguousarray(checks.matrices(self.matrices, views))
        matrices.flags.writeable = False
        object.__setattr__(self, "matrices", matrices)

    @classmethod
    def of(cls, frames: np.ndarray, trajectory: Union[np.ndarray, CircularOrbit, "Geometry"], pitch_mm=None) -> "Geometry":
        """That of a stack [view][row][column]."""
        views, rows, columns = checks.stack(frames)
        if isinstance(trajectory, Geometry):
            if trajectory.shape != frames.shape:
                raise checks.illegal("frames.shape", frames.shape, f"{trajectory.shape}, as the geometry has it")
            if pitch_mm is not None and checks.pitch(pitch_mm) != checks.pitch(trajectory.pitch_mm):
                raise checks.illegal("pitch_mm", pitch_mm, f"{trajectory.pitch_mm}, as the geometry has it, or None")
            return trajectory
        if pitch_mm is None:
            raise checks.illegal("pitch_mm", None, "the pitch of the detector's pixels, unless a Geometry is given")
        if isinstance(trajectory, CircularOrbit):
            return cls.circular(trajectory, views, rows, columns, pitch_mm)
        return cls(checks.matrices(trajectory, views), rows, columns, pitch_mm)

    @classmethod
    def circular(cls, orbit: CircularOrbit, views: int, rows: int, columns: int, pitch_mm) -> "Geometry":
        """An ideal circular orbit: view i at start + i * arc / (views - 1)."""
        checks.whole("views", views, 1, checks.MOST_FRAMES)
        return cls(circular_matrices(orbit, views, rows, columns, pitch_mm), rows, columns, pitch_mm)

    @classmethod
    def wobbling(
        cls, orbit: CircularOrbit, views: int, rows: int, columns: int, pitch_mm, amplitude: float = 1.0, seed: int = 1
    ) -> "Geometry":
        """A C-arm that sags and wobbles around the orbit as real ones do, the same for a seed. amplitude: 1 is a typical arm; 0 to 10."""
        checks.whole("views", views, 1, checks.MOST_FRAMES)
        checks.whole("seed", seed, 0, (1 << 64) - 1)
        for name, offset in (("offset_u_px", orbit.offset_u_px), ("offset_v_px", orbit.offset_v_px)):
            if offset:
                raise checks.illegal(f"orbit.{name}", offset, "0 for a wobbling arm")
        pitch_u, pitch_v = checks.pitch(pitch_mm)
        matrices = np.empty((views, 3, 4))
        scan = _library.CScan(columns, rows, pitch_u, pitch_v, views, None)
        _library.call(
            *("wobbling_orbit", ctypes.byref(scan), orbit.source_to_isocenter_mm, orbit.source_to_detector_mm),
            *(np.radians(orbit.start_angle_deg), np.radians(orbit.arc_deg), amplitude, seed),
            *(_library.at(matrices), matrices.size),
        )
        return cls(matrices, rows, columns, pitch_mm)

    @property
    def views(self) -> int:
        """How many there are."""
        return len(self.matrices)

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(views, rows, columns): of the array of its projections."""
        return self.views, self.rows, self.columns

    def __getitem__(self, index: Any) -> "Geometry":
        """Some of the views, as an array is indexed: geometry[::2], geometry[[0, 5]]. An index of one gives one view."""
        return Geometry(np.atleast_3d(self.matrices[index]).reshape(-1, 3, 4), self.rows, self.columns, self.pitch_mm)

    def auto_grid(self, size: int = 256) -> Grid:
        """A cube of size^3 voxels around what every view sees. Raises InvalidArgument (a view that does not see the isocentre)."""
        checks.whole("size", size, 1, 4096)
        made = _library.CGrid()
        _library.call("auto_grid", ctypes.byref(self.to_c()), size, ctypes.byref(made))
        return Grid((made.nx, made.ny, made.nz), triple(list(made.spacing_mm)), triple(list(made.origin_mm)))

    def to_c(self) -> _library.CScan:
        """As the library has it."""
        pitch_u, pitch_v = checks.pitch(self.pitch_mm)
        made = _library.CScan(self.columns, self.rows, pitch_u, pitch_v, self.views, self.matrices.ctypes.data)
        made.kept = self.matrices  # as long as it points to them
        return made


def grid_to_c(grid: Grid) -> _library.CGrid:
    """As the library has it."""
    if not isinstance(grid, Grid):
        raise checks.illegal("grid", repr(grid), "a Grid")
    made = _library.CGrid(*grid.size, 0)
    affine = grid.affine()
    made.spacing_mm[:] = grid.spacing_mm
    made.origin_mm[:] = affine[:3, 3].tolist()
    made.direction[:] = [float(value) for row in grid.direction for value in row]
    return made
