"""Projectors and their adjoints as linear operators."""

import ctypes
from typing import TYPE_CHECKING, Any, Optional, Tuple

import numpy as np

from isocenter import checks
from isocenter.geometry import Grid
from isocenter.local import _arrays, _library
from isocenter.local.devices import DeviceLike, device_of
from isocenter.local.geometry import Geometry, grid_to_c
from isocenter.progress import Progress, told

if TYPE_CHECKING:
    import scipy.sparse.linalg


class Projector:
    """A of p = A x: line integrals of a volume in 1/mm; adjoint is its transpose, |<Ax, y> - <x, A'y>| <= 1e-5 |Ax| |y|.

    It keeps a volume and a chunk of views in the device's memory. SciPy takes it as it is, scipy.sparse.linalg.lsqr(projector, b): it has
    shape, dtype, matvec and rmatvec, on vectors that are the arrays raveled.

    model: joseph, siddon, voxel_driven, voxel_driven_split or separable_footprint (docs/projection.md). precision: exact or fast.
    Raises InvalidArgument, NotFound (the library, a backend, a method that it lacks), Unavailable (a device), ResourceExhausted.
    """

    dtype = np.dtype(np.float32)
    __array_ufunc__ = None  # array @ projector is not NumPy's to compute

    def __init__(
        self, geometry: Geometry, grid: Grid, model: str = "joseph", device: DeviceLike = None, precision: str = "exact"
    ):
        for name, value in (("model", model), ("precision", precision)):
            if not isinstance(value, str):
                raise checks.illegal(name, repr(value), "a str")
        if not isinstance(geometry, Geometry):
            raise checks.illegal("geometry", f"of type {type(geometry).__name__}", "a Geometry")
        #: What it was made of.
        self.geometry, self.grid, self.model, self.precision = geometry, grid, model, precision
        self._device = device_of(device)
        self._handle = _library.Handle(
            *("projector_new", "projector_free", self._device.handle, ctypes.byref(geometry.to_c())),
            *(ctypes.byref(grid_to_c(grid)), model.encode(), precision.encode()),
        )

    @property
    def shape(self) -> Tuple[int, int]:
        """(rays, voxels): of the matrix that it is."""
        views, rows, columns = self.geometry.shape
        return views * rows * columns, int(np.prod(self.grid.shape))

    def __reduce__(self):
        return Projector, (self.geometry, self.grid, self.model, self._device, self.precision)  # another process makes its own

    def __getitem__(self, index: Any) -> "Projector":
        """The projector of some of the views: projector[::20]. It has memory of its own."""
        return Projector(self.geometry[index], self.grid, self.model, self._device, self.precision)

    def forward(self, volume: np.ndarray, out: Optional[np.ndarray] = None, progress: Progress = None) -> np.ndarray:
        """A x: float32 [view][v][u] of float32 [z][y][x] in 1/mm, which is finite. out: where it goes; None: a new array."""
        return self._apply("forward", ("volume", volume, self.grid.shape), ("projections", out, self.geometry.shape), progress)

    def adjoint(self, projections: np.ndarray, out: Optional[np.ndarray] = None, progress: Progress = None) -> np.ndarray:
        """A' y: float32 [z][y][x] of float32 [view][v][u], which is finite."""
        return self._apply("adjoint", ("projections", projections, self.geometry.shape), ("volume", out, self.grid.shape), progress)

    def _apply(self, what: str, read: tuple, written: tuple, progress: Progress) -> np.ndarray:
        array, out = _arrays.given(*read), _arrays.room(*written)
        with told(progress, what) as show:
            _library.run(
                *(f"projector_{what}", self._handle, _library.at(array), array.size, _library.at(out), out.size), progress=show
            )
        return out

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """A x of a vector of any real type, which is converted to float32, as what comes back is."""
        return self.forward(self._array("x", vector, self.grid.shape)).reshape(np.shape(vector)[1:] and (-1, 1) or -1)

    def rmatvec(self, vector: np.ndarray) -> np.ndarray:
        """A' y; as matvec."""
        return self.adjoint(self._array("y", vector, self.geometry.shape)).reshape(np.shape(vector)[1:] and (-1, 1) or -1)

    def __matmul__(self, x: Any) -> Any:
        """What linear_operator() @ x is: A x of a vector (voxels,) or of the columns of (voxels, k), one after the other; SciPy's product
        where x is another operator."""
        if hasattr(x, "matvec"):
            return self.linear_operator() @ x
        checks.not_masked("x", x)
        x, voxels = np.asarray(x), self.shape[1]
        if x.ndim not in (1, 2) or len(x) != voxels:
            volume = "; forward takes a volume" if x.shape == self.grid.shape else ""
            raise checks.illegal("x.shape", x.shape, f"({voxels},) or ({voxels}, k), k vectors{volume}")
        if x.ndim == 1:
            return self.matvec(x)
        lines = np.empty((self.shape[0], x.shape[1]), self.dtype)
        for index, column in enumerate(x.T):
            lines[:, index] = self.matvec(column)
        return lines

    @staticmethod
    def _array(name: str, vector: np.ndarray, shape: Tuple[int, ...]) -> np.ndarray:
        checks.not_masked(name, vector)
        vector = np.asarray(vector)
        size = int(np.prod(shape))
        if vector.shape not in ((size,), (size, 1)):
            raise checks.illegal(f"{name}.shape", vector.shape, f"({size},) or ({size}, 1)")
        if vector.dtype.kind not in "fiu":
            raise checks.illegal(f"{name}.dtype", vector.dtype, "a real type")
        return np.ascontiguousarray(vector, np.float32).reshape(shape)

    def linear_operator(self) -> "scipy.sparse.linalg.LinearOperator":
        """It as SciPy's own class, which adds, multiplies and transposes."""
        import scipy.sparse.linalg  # pylint: disable=import-outside-toplevel

        return scipy.sparse.linalg.aslinearoperator(self)
