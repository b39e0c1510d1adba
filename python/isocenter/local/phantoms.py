"""Objects of which the attenuation and every line integral are known, and the noise of a detector."""

import ctypes
from dataclasses import dataclass
from typing import List, Optional

import numpy as np

from isocenter import checks
from isocenter.errors import NotFound
from isocenter.geometry import Grid
from isocenter.local import _arrays, _library
from isocenter.local.geometry import Geometry, grid_to_c
from isocenter.progress import Progress, told
from isocenter.volume import Volume


def phantom_names() -> List[str]:
    """Those that there are."""
    return _library.text("phantoms").split()


@dataclass(frozen=True)
class Phantom:
    """A phantom, centred at the isocentre.

    name: shepp-logan, head, wire, edge, cylinder, quality, catphan (docs/user-guide/physicist.md; phantom_names() has all). scale_mm: half
    the edge of the cube that it nearly fills, 0.01 to 1000. mu_water_per_mm: by which all attenuations scale, 0.0001 to 1. Raises
    InvalidArgument, NotFound (a name; the library).
    """

    name: str = "shepp-logan"
    scale_mm: float = 100.0
    mu_water_per_mm: float = 0.02

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise checks.illegal("name", repr(self.name), "a str")
        checks.real("scale_mm", self.scale_mm, 0.01, 1000)
        checks.real("mu_water_per_mm", self.mu_water_per_mm, 1e-4, 1)
        if self.name not in (known := phantom_names()):
            meant = checks.did_you_mean(self.name, known)
            raise NotFound(f"there is no phantom {self.name!r}; there are: {', '.join(known)}{meant}")

    def _to_c(self, subsamples: int) -> _library.CPhantom:
        checks.whole("subsamples", subsamples, 1, 16)
        return _library.CPhantom(self.name.encode(), float(self.scale_mm), float(self.mu_water_per_mm), subsamples, 0)

    def project(
        self, geometry: Geometry, subsamples: int = 1, out: Optional[np.ndarray] = None, progress: Progress = None
    ) -> np.ndarray:
        """Its exact line integrals, float32 [view][v][u]. subsamples: rays that are averaged in each pixel, per axis, 1 to 16."""
        phantom = self._to_c(subsamples)
        array = _arrays.room("out", out, geometry.shape)
        with told(progress, "projecting") as show:
            scan = geometry.to_c()
            _library.run(
                *("phantom_project", ctypes.byref(phantom), ctypes.byref(scan), _library.at(array), array.size), progress=show
            )
        return array

    def volume(self, grid: Grid, subsamples: int = 1, out: Optional[np.ndarray] = None, progress: Progress = None) -> Volume:
        """It in HU. subsamples: points that are averaged in each voxel, per axis, 1 to 16."""
        phantom = self._to_c(subsamples)
        place = grid_to_c(grid)
        array = _arrays.room("out", out, grid.shape)
        with told(progress, "filling voxels") as show:
            _library.run(
                *("phantom_voxels", ctypes.byref(phantom), ctypes.byref(place), _library.at(array), array.size), progress=show
            )
        return Volume(array, grid)


def counts_of(
    projections: np.ndarray, i0_counts: float = 60000, photons: float = 0, electronic_counts: float = 0, seed: int = 1
) -> np.ndarray:
    """uint16 detector counts of float32 line integrals [view][v][u].

    photons: per unattenuated pixel and view, whose number is Poisson's; 0: no quantum noise. electronic_counts: standard deviation of what
    is added. The same seed gives the same counts on every machine.
    """
    views, rows, columns = checks.stack(projections)
    _arrays.given("projections", projections, (views, rows, columns))
    counts = _arrays.room("counts", None, projections.shape, _arrays.UINT16)
    _library.call(
        *("add_noise", _library.at(projections), views, rows * columns),
        *(checks.real("i0_counts", i0_counts, 1, 65535), checks.real("photons", photons, 0, 1e12)),
        *(checks.real("electronic_counts", electronic_counts, 0, 65535), checks.whole("seed", seed, 0, (1 << 64) - 1)),
        _library.at(counts),
    )
    return counts


def hounsfield_of(attenuation: np.ndarray, mu_water_per_mm: float = 0.02) -> np.ndarray:
    """HU of 1/mm, as what iterations of one's own give."""
    return (1000 / mu_water_per_mm) * attenuation - 1000


def attenuation_of(hounsfield: np.ndarray, mu_water_per_mm: float = 0.02) -> np.ndarray:
    """1/mm of HU, as projectors take it."""
    return (mu_water_per_mm / 1000) * hounsfield + mu_water_per_mm
