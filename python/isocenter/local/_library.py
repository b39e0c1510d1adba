"""libisocenter_kernels.so by ctypes: finding it, its structures, and calls that a signal can end.

kernels/c/isocenter_kernels.h documents every function; what is here says the same as that header.
"""

import ctypes
import functools
import importlib.util
import os
import pathlib
import threading
from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from typing import Callable, Iterator, List, Optional, Tuple

import numpy as np

from isocenter.errors import NotFound, from_code

_ABI = 2
_NAME = "libisocenter_kernels.so"
_VARIABLE = "ISOCENTER_KERNELS"
_PACKAGE = "isocenter_kernels"
_OK = 0
_LOOK_S = 0.1  # how often a bar is drawn

COUNTS, LINE_INTEGRALS = 1, 2


class Iteration(Structure):
    """isocenter_iteration"""

    _fields_ = [
        *(("iteration", c_int32), ("reserved", c_int32)),
        *(("residual", c_double), ("objective", c_double), ("seconds", c_double)),
    ]


class Control(Structure):
    """isocenter_control"""

    _fields_ = [
        *(("stop", c_int32), ("iterations", c_int32), ("fraction", c_double)),
        *(("reports", POINTER(Iteration)), ("room", c_int64)),
    ]


class CScan(Structure):
    """isocenter_scan"""

    _fields_ = [
        *(("columns", c_int32), ("rows", c_int32), ("pitch_u_mm", c_double), ("pitch_v_mm", c_double)),
        *(("views", c_int64), ("matrices", c_void_p)),
    ]


class CGrid(Structure):
    """isocenter_grid"""

    _fields_ = [
        *(("nx", c_int32), ("ny", c_int32), ("nz", c_int32), ("reserved", c_int32)),
        *(("spacing_mm", c_double * 3), ("origin_mm", c_double * 3), ("direction", c_double * 9)),
    ]


class CFdk(Structure):
    """isocenter_fdk"""

    _fields_ = [
        *(("window", c_char_p), ("redundancy", c_char_p), ("truncation", c_char_p), ("precision", c_char_p)),
        *(("cutoff", c_double), ("mu_water_per_mm", c_double)),
    ]


class CIterative(Structure):
    """isocenter_iterative"""

    _fields_ = [
        *(("algorithm", c_char_p), ("projector", c_char_p), ("precision", c_char_p)),
        *(("iterations", c_int32), ("subsets", c_int32), ("tv_steps", c_int32), ("surroundings_factor", c_int32)),
        *(("matched", c_int32), ("non_negative", c_int32), ("warm_start", c_int32), ("statistical_weights", c_int32)),
        *(("relaxation", c_double), ("relaxation_decay", c_double), ("prior_strength", c_double)),
        *(("huber_delta_per_mm", c_double), ("stop_residual", c_double)),
    ]


class CPhantom(Structure):
    """isocenter_phantom"""

    _fields_ = [
        *(("name", c_char_p), ("scale_mm", c_double), ("mu_water_per_mm", c_double)),
        *(("subsamples", c_int32), ("threads", c_int32)),
    ]


_SCAN, _GRID, _CONTROL = POINTER(CScan), POINTER(CGrid), POINTER(Control)
_HANDLE = POINTER(c_void_p)
_FREE = (None, (c_void_p,))
_PLANNED = (c_void_p, _SCAN, c_int32, c_double, _GRID, POINTER(CFdk))
# Each function's result and arguments.
_FUNCTIONS = {
    "abi": (c_int32, ()),
    "version": (c_char_p, ()),
    "message": (c_char_p, ()),
    "backends": (c_char_p, ()),
    "device_open": (c_int32, (c_char_p, c_int32, c_int64, _HANDLE)),
    "device_description": (c_char_p, (c_void_p,)),
    "device_backend": (c_char_p, (c_void_p,)),
    "device_close": _FREE,
    "auto_grid": (c_int32, (_SCAN, c_int32, _GRID)),
    "wobbling_orbit": (
        c_int32, (_SCAN, c_double, c_double, c_double, c_double, c_double, c_uint64, c_void_p, c_int64)
    ),
    "fdk_defaults": (None, (POINTER(CFdk),)),
    "iterative_defaults": (None, (POINTER(CIterative),)),
    "plan_fdk": (c_int32, (*_PLANNED, _HANDLE)),
    "plan_iterative": (c_int32, (*_PLANNED, POINTER(CIterative), _HANDLE)),
    "plan_text": (c_char_p, (c_void_p,)),
    "plan_device_bytes": (c_int64, (c_void_p,)),
    "plan_host_bytes": (c_int64, (c_void_p,)),
    "plan_warnings": (c_int32, (c_void_p, c_void_p, c_int64, POINTER(c_char_p))),
    "plan_run": (c_int32, (c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64, _CONTROL)),
    "plan_free": _FREE,
    "projector_new": (c_int32, (c_void_p, _SCAN, _GRID, c_char_p, c_char_p, _HANDLE)),
    "projector_forward": (c_int32, (c_void_p, c_void_p, c_int64, c_void_p, c_int64, _CONTROL)),
    "projector_adjoint": (c_int32, (c_void_p, c_void_p, c_int64, c_void_p, c_int64, _CONTROL)),
    "projector_free": _FREE,
    "phantoms": (c_char_p, ()),
    "phantom_project": (c_int32, (POINTER(CPhantom), _SCAN, c_void_p, c_int64, _CONTROL)),
    "phantom_voxels": (c_int32, (POINTER(CPhantom), _GRID, c_void_p, c_int64, _CONTROL)),
    "add_noise": (
        c_int32, (c_void_p, c_int64, c_int64, c_double, c_double, c_double, c_uint64, c_void_p)
    ),
}


def _places() -> Iterator[pathlib.Path]:
    """Where the library may be."""
    if named := os.environ.get(_VARIABLE):
        yield pathlib.Path(named)
        return
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield pathlib.Path(folder) / _NAME


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed. Raises NotFound: it is not installed, cannot be loaded, or is of another version."""
    places = list(_places())
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        looked = f" at {places[0]}" if places else ""
        raise NotFound(
            f"{_NAME} was not found{looked}; install the wheel isocenter-kernels or the Debian package python3-isocenter, "
            f"or name the file in {_VARIABLE}"
        )
    try:
        loaded = ctypes.CDLL(str(place))
        abi = loaded.isocenter_abi()
    except (OSError, AttributeError) as error:
        raise NotFound(f"{place} cannot be loaded: {error}") from None
    if abi != _ABI:
        raise NotFound(f"{place} has interface {abi}; this package needs {_ABI}: install both of one version")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, f"isocenter_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


def text(name: str, *arguments) -> str:
    """What a function that answers with a text says."""
    return getattr(library(), f"isocenter_{name}")(*arguments).decode()


def _outcome(name: str, arguments: tuple) -> Tuple[int, str]:
    status = getattr(library(), f"isocenter_{name}")(*arguments)
    # The message belongs to the thread that called.
    return status, library().isocenter_message().decode() if status != _OK else ""


def _raise(outcome: Tuple[int, str]) -> None:
    if outcome[0] != _OK:
        raise from_code(*outcome)


def call(name: str, *arguments) -> None:
    """A function that is quick. Raises the error of its status."""
    _raise(_outcome(name, arguments))


class Handle:
    """What the library made by a function whose last argument is where it goes; freed with this object. May be an argument itself."""

    def __init__(self, made_by: str, freed_by: str, *arguments):
        self._as_parameter_ = c_void_p()
        made = c_void_p()
        call(made_by, *arguments, ctypes.byref(made))
        self._free = getattr(library(), f"isocenter_{freed_by}")
        self._as_parameter_ = made

    def __reduce__(self):
        raise TypeError("what libisocenter_kernels.so made belongs to this process, and cannot be pickled: make it again where it is needed")

    def __del__(self):
        if self._as_parameter_:
            self._free(self._as_parameter_)


def at(array: np.ndarray) -> c_void_p:
    """Where an array's elements are; it stays as long as this."""
    return array.ctypes.data_as(c_void_p)


def run(name: str, *arguments, progress: Optional[Callable[[float], None]] = None, passes: int = 0) -> List[Iteration]:
    """A function that takes long, and a Control last; the passes that it tells of, of `passes` at most.

    progress: called now and then with the share of the work that is done. Python looks at signals between its own steps only, so that
    the library works in another thread, and this one waits: Ctrl-C, or whatever else is raised here, ends the call within a chunk
    of views, and is raised again once it has ended. Handles and arrays (as of at) are kept as long as it runs.
    """
    control, reports = Control(), (Iteration * passes)()
    control.reports, control.room = reports, passes
    outcome: List[Tuple[int, str]] = []
    done = threading.Event()
    every = (*arguments, ctypes.byref(control))

    def work() -> None:
        try:
            outcome.append(_outcome(name, every))
        finally:
            done.set()

    if progress is None and threading.current_thread() is not threading.main_thread():
        work()
    else:
        threading.Thread(target=work, name="isocenter-kernels").start()
        _wait_for(done, control, progress)
    _raise(outcome[0])
    return list(reports[: min(control.iterations, passes)])


def _wait_for(done: threading.Event, control: Control, progress: Optional[Callable[[float], None]]) -> None:
    # Not Thread.join: a thread whose join was interrupted counts as ended in Python 3.11, and goes on.
    try:
        while not done.wait(None if progress is None else _LOOK_S) and progress is not None:
            progress(control.fraction)
        if progress is not None:
            progress(control.fraction)
    except BaseException:
        control.stop = 1
        # It writes into the caller's arrays: they are its own until it has ended, whoever is impatient.
        while not done.is_set():
            try:
                done.wait()
            except BaseException:  # pylint: disable=broad-except
                continue
        raise
