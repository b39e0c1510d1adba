"""Filtered back-projection and iterations."""

import ctypes
import warnings
from dataclasses import dataclass
from typing import Any, List, Optional, Union

import numpy as np

from isocenter import checks
from isocenter.errors import ReconstructionWarning
from isocenter.geometry import CircularOrbit, Grid
from isocenter.local import _arrays, _library
from isocenter.local.devices import DeviceLike, device_of
from isocenter.local.geometry import Geometry, grid_to_c
from isocenter.progress import Progress, told
from isocenter.volume import Volume

_MOST_PASSES = 1000
_FDK = ("window", "redundancy", "truncation", "precision", "cutoff", "mu_water_per_mm")
_ARGUMENTS = ("pitch_mm", "grid", "i0_counts", "device", "out", "progress", "start")  # beside settings
Trajectory = Union[np.ndarray, CircularOrbit, Geometry]


@dataclass(frozen=True)
class Pass:
    """What is known after one pass over the views. residual: |b - Ax| / |b|, with subsets of the iterates before each one's update.
    objective: what is minimised; None where it is not defined. seconds: since the first."""

    iteration: int
    residual: float
    objective: Optional[float]
    seconds: float


@dataclass(frozen=True)
class Iterated:
    """A volume, and what was known after each pass that made it."""

    volume: Volume
    passes: List[Pass]


def _fill(structure, settings: dict, what: str) -> Any:
    """Puts settings into a structure that has the defaults. Names and types are looked at here, ranges by the library."""
    kinds = dict(structure._fields_)
    for name, value in settings.items():
        if name not in kinds:
            meant = checks.did_you_mean(name, [*kinds, *_ARGUMENTS])
            raise checks.illegal(f"a setting of {what}", repr(name), ", ".join(kinds) + meant)
        if kinds[name] is ctypes.c_char_p:
            if not isinstance(value, str):
                raise checks.illegal(name, repr(value), "a str")
            setattr(structure, name, value.encode())
        elif kinds[name] is ctypes.c_int32:
            setattr(structure, name, checks.whole(name, value, -(1 << 31), (1 << 31) - 1))
        else:
            setattr(structure, name, checks.real(name, value, -1e300, 1e300))
    return structure


class Plan:
    """Everything that is known before the first frame, for as many scans of one geometry as there are; plan_fdk and plan_iterations
    make it. Thread-safe."""

    def __init__(self, geometry: Geometry, grid: Optional[Grid], dtype, i0_counts, device: DeviceLike, fdk, iterative):
        dtype = np.dtype(dtype)
        if dtype not in (_arrays.FLOAT32, _arrays.UINT16):
            raise checks.illegal("dtype", dtype, "uint16 (detector counts) or float32 (line integrals)")
        counts = dtype == _arrays.UINT16
        if counts:
            checks.real("i0_counts, which counts need,", i0_counts, 1, 65535)
        #: Of the scans, the volumes, the pixels.
        self.geometry, self.grid, self.dtype = geometry, geometry.auto_grid() if grid is None else grid, dtype
        self._device, self._passes = device_of(device), 0 if iterative is None else _MOST_PASSES
        arguments = [
            *(self._device.handle, ctypes.byref(geometry.to_c()), _library.COUNTS if counts else _library.LINE_INTEGRALS),
            *(float(i0_counts) if counts else 0.0, ctypes.byref(grid_to_c(self.grid)), ctypes.byref(fdk)),
        ]
        if iterative is not None:
            arguments.append(ctypes.byref(iterative))
        made_by = "plan_fdk" if iterative is None else "plan_iterative"
        self._handle = _library.Handle(made_by, "plan_free", *arguments)

    def __str__(self) -> str:
        """What was decided, a line each, for people."""
        return _library.text("plan_text", self._handle)

    @property
    def device_bytes(self) -> int:
        """Upper bound of what a run takes of the device's memory."""
        return _library.library().isocenter_plan_device_bytes(self._handle)

    @property
    def host_bytes(self) -> int:
        """Upper bound of what a run takes of the host's memory beside the frames."""
        return _library.library().isocenter_plan_host_bytes(self._handle)

    def warnings(self, frames: np.ndarray) -> List[str]:
        """Why the volume of a scan may not be what it seems, as sentences: frames that repeat or show nothing, air that is not at i0_counts,
        values that are no line integrals, matrices that do not fit, a grid that the views hardly see ..

        What `isocenter reconstruct` warns of, and run, which looks by this. It looks at 16 rows of each frame, a few more around the
        middle, and at where rows end. Raises as run.
        """
        return self._said_of(self._frames(frames))

    def _said_of(self, frames: np.ndarray) -> List[str]:
        said = ctypes.c_char_p()
        _library.call("plan_warnings", self._handle, _library.at(frames), frames.size, ctypes.byref(said))
        return (said.value or b"").decode().splitlines()

    def _frames(self, frames: np.ndarray) -> np.ndarray:
        frames = _arrays.given("frames", frames, self.geometry.shape, self.dtype)
        if self.dtype == _arrays.FLOAT32:
            for view in range(0, len(frames), max(1, len(frames) // 32)):
                checks.line_integrals(f"frames[{view}]", frames[view])
        return frames

    def run(
        self,
        frames: np.ndarray,
        start: Union[Volume, np.ndarray, None] = None,
        out: Optional[np.ndarray] = None,
        progress: Progress = None,
    ) -> Iterated:
        """The volume of one scan, in HU; of FDK without passes.

        frames: as the plan says, C-contiguous, finite, line integrals at most 100 either way. start: of iterations without a warm start, the volume in HU that they begin with.
        out: float32 [z][y][x], where the volume goes, also that of `start`; None: a new array. progress: see isocenter.progress. Ctrl-C ends it.
        What warnings(frames) has comes as ReconstructionWarning before it begins. Raises InvalidArgument, ResourceExhausted; `out` holds
        nothing of use then.
        """
        return self._run(frames, start, out, progress)

    def _run(self, frames: np.ndarray, start, out: Optional[np.ndarray], progress: Progress) -> Iterated:
        """run, of a function that a caller calls: warnings are of the caller's line."""
        frames = self._frames(frames)
        begin = start.array if isinstance(start, Volume) else start
        if begin is not None:
            _arrays.given("start", begin, self.grid.shape)
        array = _arrays.room("out", out, self.grid.shape)
        for text in self._said_of(frames):
            warnings.warn(text, ReconstructionWarning, stacklevel=3)
        with told(progress, "iterating" if self._passes else "reconstructing") as show:
            passes = _library.run(
                *("plan_run", self._handle, _library.at(frames), frames.size),
                *(None if begin is None else _library.at(begin), _library.at(array), array.size),
                progress=show,
                passes=self._passes,
            )
        told_of = [
            Pass(one.iteration, one.residual, None if np.isnan(one.objective) else one.objective, one.seconds) for one in passes
        ]
        return Iterated(Volume(array, self.grid), told_of)


def _fdk_settings(settings: dict) -> _library.CFdk:
    fdk = _library.CFdk()
    _library.library().isocenter_fdk_defaults(ctypes.byref(fdk))
    return _fill(fdk, settings, "filtered back-projection")


def plan_fdk(
    geometry: Geometry,
    grid: Optional[Grid] = None,
    *,
    dtype=np.float32,
    i0_counts: Optional[float] = None,
    device: DeviceLike = None,
    **settings,
) -> Plan:
    """A plan of filtered back-projection; arguments as of fdk, dtype: of the frames. Raises as fdk."""
    return Plan(geometry, grid, dtype, i0_counts, device, _fdk_settings(settings), None)


def plan_iterations(
    geometry: Geometry,
    grid: Optional[Grid] = None,
    *,
    dtype=np.float32,
    i0_counts: Optional[float] = None,
    device: DeviceLike = None,
    **settings,
) -> Plan:
    """A plan of iterations; arguments as of iterate, dtype: of the frames. Raises as iterate."""
    of_fdk = {name: settings.pop(name) for name in _FDK if name in settings and name != "precision"}
    iterative = _library.CIterative()
    _library.library().isocenter_iterative_defaults(ctypes.byref(iterative))
    if "precision" in settings:
        of_fdk["precision"] = settings["precision"]
    _fill(iterative, settings, "iterations")
    return Plan(geometry, grid, dtype, i0_counts, device, _fdk_settings(of_fdk), iterative)


def fdk(
    frames: np.ndarray,
    trajectory: Trajectory,
    pitch_mm=None,
    *,
    grid: Optional[Grid] = None,
    i0_counts: Optional[float] = None,
    device: DeviceLike = None,
    out: Optional[np.ndarray] = None,
    progress: Progress = None,
    **settings,
) -> Volume:
    """The volume of a scan by filtered back-projection (Feldkamp, Davis, Kress), in HU.

    frames: [view][row][column], uint16 counts (with i0_counts, those of an unattenuated pixel) or float32 line integrals, C-contiguous,
    finite. trajectory: matrices [view][3][4], a CircularOrbit, or a Geometry. grid: None: Geometry.auto_grid(256). out, progress: as of
    Plan.run.
    settings: window ("ram-lak", shepp-logan, cosine, hamming, hann), cutoff (of the Nyquist frequency, 1.0), redundancy ("auto", short-scan,
    full-scan; a displaced detector is seen from the matrices), truncation ("none", mirror, cylinder, atract), mu_water_per_mm (0.02),
    precision ("exact", fast).
    Warns (isocenter.ReconstructionWarning) of what Plan.warnings has. Raises InvalidArgument, NotFound (the library, a backend), Unavailable (a device), ResourceExhausted.
    """
    plan = plan_fdk(
        Geometry.of(frames, trajectory, pitch_mm), grid, dtype=frames.dtype, i0_counts=i0_counts, device=device, **settings
    )
    return plan._run(frames, None, out, progress).volume


def iterate(
    frames: np.ndarray,
    trajectory: Trajectory,
    pitch_mm=None,
    *,
    grid: Optional[Grid] = None,
    i0_counts: Optional[float] = None,
    device: DeviceLike = None,
    start: Union[Volume, np.ndarray, None] = None,
    out: Optional[np.ndarray] = None,
    progress: Progress = None,
    **settings,
) -> Iterated:
    """The volume of a scan by iterations (docs/iterative.md), in HU; arguments as of fdk.

    start: a volume in HU to begin with, in place of FDK's.
    settings: algorithm ("os_sart", sirt, sart, cgls, lsqr, os_sqs, asd_pocs, fista_tv), projector ("joseph", siddon, voxel_driven,
    voxel_driven_split, separable_footprint), iterations (10), subsets (0: what suits), relaxation, relaxation_decay, non_negative,
    warm_start (True: from FDK, with its settings), statistical_weights, prior_strength, huber_delta_per_mm, tv_steps, stop_residual,
    surroundings_factor, matched, precision.
    """
    if start is not None:
        settings = {"warm_start": False, **settings}
    plan = plan_iterations(
        Geometry.of(frames, trajectory, pitch_mm), grid, dtype=frames.dtype, i0_counts=i0_counts, device=device, **settings
    )
    return plan._run(frames, start, out, progress)
