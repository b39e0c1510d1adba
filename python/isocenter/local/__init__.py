"""Reconstruction without a service: the kernels on NumPy arrays, which are not copied.

    from isocenter import local
    volume = local.fdk(frames, matrices, pitch_mm=0.616)

Needs libisocenter_kernels.so: the wheel isocenter-kernels or the Debian package python3-isocenter. docs/python.md is the manual.
"""

from isocenter.local.devices import Device, backends
from isocenter.local.geometry import Geometry
from isocenter.local.phantoms import Phantom, attenuation_of, counts_of, hounsfield_of, phantom_names
from isocenter.local.projector import Projector
from isocenter.local.reconstruction import Iterated, Pass, Plan, fdk, iterate, plan_fdk, plan_iterations

__all__ = [
    *("Device", "Geometry", "Iterated", "Pass", "Phantom", "Plan", "Projector"),
    *("attenuation_of", "backends", "counts_of", "fdk", "hounsfield_of", "iterate", "phantom_names", "plan_fdk", "plan_iterations"),
]
