"""What the examples scan: a cylinder of water around the rotation axis, 80 mm in radius and 120 mm long, without noise."""

import isocenter
import numpy as np

MU_WATER_PER_MM = 0.02
RADIUS_MM, HALF_LENGTH_MM = 80.0, 60.0


def scan(orbit: isocenter.CircularOrbit, frames: int = 90, rows: int = 96, columns: int = 128, pitch_mm: float = 3.0) -> np.ndarray:
    """Exact line integrals, float32 [frame][row][column]: the same in every frame, as the cylinder and the orbit are round."""
    u = (np.arange(columns) - 0.5 * (columns - 1)) * pitch_mm
    v = (np.arange(rows) - 0.5 * (rows - 1)) * pitch_mm
    x, z = np.meshgrid(u, v)
    y = np.full_like(x, orbit.source_to_detector_mm)
    # The ray is source + t * (y, x, z) / |.|, the source at -source_to_isocenter_mm along the first axis.
    a = x**2 + y**2
    half = y * orbit.source_to_isocenter_mm
    root = np.sqrt(np.maximum(half**2 - a * (orbit.source_to_isocenter_mm**2 - RADIUS_MM**2), 0))
    with np.errstate(divide="ignore"):
        end = np.where(z == 0, np.inf, HALF_LENGTH_MM / np.abs(z))
    inside = np.clip(np.minimum((half + root) / a, end) - np.minimum((half - root) / a, end), 0, None)
    integrals = MU_WATER_PER_MM * inside * np.sqrt(x**2 + y**2 + z**2)
    return np.ascontiguousarray(np.broadcast_to(integrals.astype(np.float32), (frames, rows, columns)))
