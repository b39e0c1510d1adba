"""Volumes as NumPy arrays with their geometry."""

import gzip
import pathlib
import struct
from dataclasses import dataclass
from typing import Tuple, Union

import numpy as np

from isocenter import checks
from isocenter.geometry import Grid

_NIFTI_HEADER = 348
_NIFTI_FLOAT32 = 16
_NIFTI_MILLIMETRES = 2
_NIFTI_SCANNER = 1  # sform: in the axes of the scanner
_NIFTI_MOST = 32767  # of each size


@dataclass(frozen=True)
class Volume:
    """array: float32 Hounsfield units, [z][y][x]. grid: where its voxels are, in the patient's axes (LPS: x to the left, y to the
    back, z to the head), as DICOM has them."""

    array: np.ndarray
    grid: Grid

    def __post_init__(self):
        if self.array.shape != self.grid.shape:
            raise checks.illegal("array.shape", self.array.shape, f"{self.grid.shape}, as the grid has it")

    def __repr__(self) -> str:
        size, spacing = (" x ".join(f"{n:.4g}" for n in numbers) for numbers in (self.grid.size, self.grid.spacing_mm))
        return f"Volume({size} voxels of {spacing} mm, {self.array.min():.0f} to {self.array.max():.0f} HU)"

    def affine(self) -> np.ndarray:
        """4x4: LPS millimetres of an index (i, j, k, 1) along x, y, z, that is of array[k, j, i]."""
        return self.grid.affine()

    def affine_ras(self) -> np.ndarray:
        """4x4: RAS millimetres of it, as nibabel wants: nibabel.Nifti1Image(volume.array.T, volume.affine_ras())."""
        return self.grid.affine_ras()

    def in_patient(self, position: str) -> "Volume":
        """The same array in the axes of a patient who lies so on the table; see Grid.in_patient."""
        return Volume(self.array, self.grid.in_patient(position))

    @property
    def origin(self) -> Tuple[float, ...]:
        """LPS millimetres of array[0, 0, 0]: image.SetOrigin of ITK and SimpleITK."""
        return tuple(self.affine()[:3, 3].tolist())

    @property
    def spacing(self) -> Tuple[float, ...]:
        """Millimetres along x, y, z: image.SetSpacing."""
        return tuple(self.grid.spacing_mm)

    @property
    def direction(self) -> Tuple[float, ...]:
        """9 direction cosines, row by row: image.SetDirection. The image itself is GetImageFromArray(volume.array)."""
        return tuple(float(value) for row in self.grid.direction for value in row)

    def save_nifti(self, file: Union[str, pathlib.Path], *, overwrite: bool = False) -> None:
        """Writes a NIfTI-1 file (.nii or .nii.gz) of float32 with an sform in RAS millimetres, which appears as a whole.
        InvalidArgument: another suffix, or more than 32767 voxels along an axis. AlreadyExists: it is there, without overwrite."""
        path = pathlib.Path(file)
        packed = path.name.endswith(".nii.gz")
        if not packed and path.suffix != ".nii":
            raise checks.illegal("file", repr(str(file)), "a name that ends with .nii or .nii.gz")
        checks.unused(path, overwrite)
        header = self._nifti_header()
        partial = path.with_name(path.name + ".partial")
        try:
            with gzip.open(partial, "wb", compresslevel=1) if packed else open(partial, "wb") as out:
                out.write(header)
                out.write(np.ascontiguousarray(self.array, "<f4").data)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def _nifti_header(self) -> bytes:
        """348 bytes and 4 that say that there are no extensions (NIfTI-1.1, nifti1.h)."""
        for axis, size in enumerate(self.grid.size):
            checks.whole(f"grid.size[{axis}] of a NIfTI file", size, 1, _NIFTI_MOST)
        header = bytearray(_NIFTI_HEADER + 4)
        struct.pack_into("<i", header, 0, _NIFTI_HEADER)
        struct.pack_into("<8h", header, 40, 3, *self.grid.size, 1, 1, 1, 1)
        struct.pack_into("<2h", header, 70, _NIFTI_FLOAT32, 32)
        struct.pack_into("<8f", header, 76, 1, *self.grid.spacing_mm, 1, 1, 1, 1)
        struct.pack_into("<3f", header, 108, _NIFTI_HEADER + 4, 1, 0)
        struct.pack_into("<b", header, 123, _NIFTI_MILLIMETRES)
        struct.pack_into("<2h", header, 252, 0, _NIFTI_SCANNER)
        struct.pack_into("<12f", header, 280, *self.affine_ras()[:3].ravel())
        header[344:348] = b"n+1\0"
        return bytes(header)
