"""Volumes as objects of other libraries, and back. Each library is imported when it is asked for; none is needed otherwise."""

import importlib
from typing import Any

import numpy as np

from isocenter import checks
from isocenter.errors import NotFound
from isocenter.geometry import Grid, triple
from isocenter.volume import Volume


def _library(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotFound(f"{name} is not installed: {package}") from None


def to_nibabel(volume: Volume) -> Any:
    """A nibabel.Nifti1Image, which shares the array. Raises NotFound (nibabel)."""
    nibabel = _library("nibabel", "apt install python3-nibabel")
    image = nibabel.Nifti1Image(volume.array.T, volume.affine_ras())
    image.header.set_xyzt_units("mm")
    return image


def from_nibabel(image: Any) -> Volume:
    """A volume of float32 of an image of three dimensions, e.g. nibabel.load(file). Where its axes are left-handed, the first one is turned round. Raises
    InvalidArgument (another number of dimensions, axes that are not perpendicular)."""
    array = np.asarray(image.dataobj, np.float32)
    if array.ndim != 3:
        raise checks.illegal("image.shape", array.shape, "3 dimensions")
    affine = np.array(image.affine, np.float64)
    if np.linalg.det(affine[:3, :3]) < 0:
        affine[:3, 3] += affine[:3, 0] * (array.shape[0] - 1)
        affine[:3, 0] *= -1
        array = array[::-1]
    return Volume(np.ascontiguousarray(array.T), Grid.from_affine_ras(affine, array.shape))


def to_sitk(volume: Volume) -> Any:
    """A SimpleITK.Image with a copy of the array. Raises NotFound (SimpleITK)."""
    sitk = _library("SimpleITK", "pip install SimpleITK")
    image = sitk.GetImageFromArray(volume.array)
    image.SetOrigin(volume.origin)
    image.SetSpacing(volume.spacing)
    image.SetDirection(volume.direction)
    return image


def from_sitk(image: Any) -> Volume:
    """A volume of float32 of a SimpleITK.Image of three dimensions, e.g. a series that it has read. Raises NotFound (SimpleITK),
    InvalidArgument."""
    sitk = _library("SimpleITK", "pip install SimpleITK")
    if image.GetDimension() != 3:
        raise checks.illegal("image.GetDimension()", image.GetDimension(), "3")
    array = np.ascontiguousarray(sitk.GetArrayFromImage(image), np.float32)
    direction = np.reshape(image.GetDirection(), (3, 3))
    rows = tuple(tuple(float(value) for value in row) for row in direction)
    return Volume(array, Grid(triple(image.GetSize()), triple(image.GetSpacing()), triple(image.GetOrigin()), rows))
