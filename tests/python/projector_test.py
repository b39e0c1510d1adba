"""Projectors as linear operators: their adjoints, SciPy's solvers on them, and the float64 reference."""

import importlib.util
import pickle
import unittest

from package import PackageTest, main, np, isocenter
from isocenter import local

MODELS = ("joseph", "siddon", "voxel_driven", "voxel_driven_split", "separable_footprint")
ARM = isocenter.CircularOrbit(750, 1200, 200)
# Odd sizes; voxels of three lengths, off the centre, turned.
GRID = isocenter.Grid((23, 17, 13), (3.0, 4.0, 5.0), (-30.0, -25.0, -28.0), ((0.6, -0.8, 0.0), (0.8, 0.6, 0.0), (0.0, 0.0, 1.0)))
GEOMETRY_SIZE = (19, 31, 43, 3.1)  # more views than a chunk of them
HAS_SCIPY = importlib.util.find_spec("scipy") is not None


def arm():
    return local.Geometry.wobbling(ARM, *GEOMETRY_SIZE)


def vectors(projector):
    rng = np.random.default_rng(7)
    return rng.random(projector.grid.shape, np.float32), rng.random(projector.geometry.shape, np.float32)


def mismatch(forward, adjoint):
    """|<Ax, y> - <x, A'y>| / (|Ax| |y|), in float64."""
    x, y = vectors(forward)
    ax, aty = forward.forward(x).astype("f8"), adjoint.adjoint(y).astype("f8")
    return abs(np.vdot(ax, y) - np.vdot(x, aty)) / (np.linalg.norm(ax) * np.linalg.norm(y.astype("f8")))


class ProjectorTest(PackageTest):
    def test_adjoints(self):
        for model in MODELS:
            with self.subTest(model):
                projector = local.Projector(arm(), GRID, model, device="cpu")
                self.assertLess(mismatch(projector, projector), 1e-5)
        # A planted fault: an adjoint of a detector that is a pixel aside.
        moved = arm().matrices.copy()
        moved[:, 0] += moved[:, 2]
        aside = local.Projector(local.Geometry(moved, *GEOMETRY_SIZE[1:]), GRID, device="cpu")
        self.assertGreater(mismatch(local.Projector(arm(), GRID, device="cpu"), aside), 1e-3)

    def test_the_reference_says_the_same(self):
        """To what float32 leaves of sums of some hundred terms."""
        for model in MODELS:
            with self.subTest(model):
                fast, plain = (local.Projector(arm(), GRID, model, device=device) for device in ("cpu", "reference"))
                x, y = vectors(fast)
                for ours, theirs in ((fast.forward(x), plain.forward(x)), (fast.adjoint(y), plain.adjoint(y))):
                    self.assertLess(np.abs(ours - theirs).max(), 1e-4 * np.abs(theirs).max())

    def test_line_integrals_of_a_phantom(self):
        """Voxels of 2 mm and rays through them: 2 % of the largest integral, on the mean; those of another phantom are far off."""
        geometry = local.Geometry.circular(ARM, 6, 40, 64, 4.0)
        grid, phantom = isocenter.Grid.cube(96, 2.0), local.Phantom("head", 80)
        volume = local.attenuation_of(phantom.volume(grid, subsamples=2).array).astype("<f4")
        ours, exact = local.Projector(geometry, grid, device="cpu").forward(volume), phantom.project(geometry, subsamples=3)
        self.assertLess(np.abs(ours - exact).mean(), 0.02 * exact.max())
        self.assertGreater(np.abs(ours - local.Phantom("cylinder", 80).project(geometry)).mean(), 0.05 * exact.max())

    def test_some_of_the_views(self):
        projector = local.Projector(arm(), GRID, device="cpu")
        x, y = vectors(projector)
        every = projector.forward(x)
        np.testing.assert_array_equal(projector[::3].forward(x), every[::3])
        np.testing.assert_array_equal(projector[[4, 2]].forward(x), every[[4, 2]])
        parts = sum(projector[first::2].adjoint(np.ascontiguousarray(y[first::2])) for first in (0, 1))
        np.testing.assert_allclose(parts, projector.adjoint(y), rtol=1e-4)
        self.assertEqual(projector[5].geometry.shape, (1, 31, 43))

    def test_results_go_where_they_are_told(self):
        projector = local.Projector(arm(), GRID, device="cpu")
        x, y = vectors(projector)
        for apply, array, shape in ((projector.forward, x, y.shape), (projector.adjoint, y, x.shape)):
            out = np.full(shape, np.nan, "<f4")
            self.assertIs(apply(array, out=out), out)
            np.testing.assert_array_equal(out, apply(array))

    def test_what_cannot_be_multiplied_is_told(self):
        projector = local.Projector(arm(), GRID, device="cpu")
        x, _ = vectors(projector)
        voxels = x.size
        for wrong, pattern in (
            (x.ravel()[:5], rf"x.shape is \(5,\); legal is \({voxels},\) or \({voxels}, k\), k vectors$"),
            (x, r"x.shape is \(13, 17, 23\); .*; forward takes a volume"),
            (3.0, r"x.shape is \(\); legal is"),
            (np.ma.masked_array(x.ravel()), r"x is a masked array; legal is .*x\.filled\(value\)"),
        ):
            self.assert_says(isocenter.InvalidArgument, pattern, projector.__matmul__, wrong)
        with self.assertRaisesRegex(TypeError, "ndarray.*Projector"):
            x.ravel() @ projector  # pylint: disable=pointless-statement

    def test_it_is_pickled_as_what_it_was_made_of(self):
        projector = local.Projector(arm(), GRID, "siddon", local.Device("cpu", threads=1))
        again = pickle.loads(pickle.dumps(projector))
        x, _ = vectors(projector)
        np.testing.assert_array_equal(again.forward(x), projector.forward(x))
        self.assertEqual((again.model, again._device.description), ("siddon", projector._device.description))
        with self.assertRaisesRegex(TypeError, "belongs to this process, and cannot be pickled: make it again"):
            pickle.dumps(local.plan_fdk(arm(), GRID, device="cpu"))

    @unittest.skipUnless(HAS_SCIPY, "install python3-scipy (./dev setup)")
    def test_scipy_takes_it(self):
        import scipy.sparse.linalg as sparse  # pylint: disable=import-outside-toplevel

        projector = local.Projector(local.Geometry.circular(ARM, 30, 31, 43, 3.1), isocenter.Grid.cube(12, 6.0), device="cpu")
        truth = np.zeros(projector.grid.shape, "<f4")
        truth[3:9, 4:8, 5:10] = 0.02
        measured = projector.forward(truth)
        # As it is; 0.1 % of the truth is what 60 steps leave.
        found = sparse.lsqr(projector, measured.ravel(), iter_lim=60, atol=0, btol=0)[0].reshape(truth.shape)
        self.assertLess(np.linalg.norm(found - truth), 0.01 * np.linalg.norm(truth))
        operator = projector.linear_operator()
        self.assertEqual((operator.shape, operator.dtype), (projector.shape, np.float32))
        x = truth.ravel()
        np.testing.assert_array_equal(operator @ x, measured.ravel())
        for taken in (x, x[:, None], np.stack([x, 2 * x, 0 * x], 1), x.tolist()):
            np.testing.assert_array_equal(projector @ taken, operator @ taken)
        np.testing.assert_array_equal((projector @ operator.T) @ measured.ravel(), operator @ (operator.T @ measured.ravel()))
        np.testing.assert_array_equal((2 * operator) @ x[:, None], 2 * measured.reshape(-1, 1))
        normal = operator.T @ operator + 0.1 * sparse.aslinearoperator(sparse.LinearOperator((x.size, x.size), lambda v: v))
        solution, info = sparse.cg(normal, operator.T @ measured.ravel(), maxiter=100, tol=1e-4, atol=0)
        self.assertEqual(info, 0)
        self.assertLess(np.linalg.norm(solution - x), 0.1 * np.linalg.norm(x))
        both = sparse.aslinearoperator(projector).matmat(np.stack([x, 2 * x], 1))
        np.testing.assert_allclose(both[:, 1], 2 * both[:, 0], rtol=1e-6)
        self.assert_says(isocenter.InvalidArgument, r"x.shape is \(5,\); legal is \(1728,\)", projector.matvec, np.ones(5))
        self.assert_says(isocenter.InvalidArgument, "x.dtype is complex64; legal is a real type", projector.matvec, x + 1j)


if __name__ == "__main__":
    main()
