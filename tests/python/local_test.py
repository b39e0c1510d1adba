"""isocenter.local beside the C++ program, which shares its plans, and beside phantoms that are known."""

import os
import re
import shutil
import signal
import threading
import time
import warnings

from package import GRID, PackageTest, main, np, support, isocenter
from isocenter import local

ORBIT = isocenter.CircularOrbit(750, 1200, 360 * 99 / 100)
SHORT = isocenter.CircularOrbit(750, 1200, 206)
SMALL = isocenter.Grid.cube(48, 4.0)


def circular(orbit=ORBIT, views=100, rows=60, columns=96, pitch_mm=4.0):
    return local.Geometry.circular(orbit, views, rows, columns, pitch_mm)


def water(volume, radius_mm=50.0):
    """The voxels of a cylinder around the axis in the middle slices."""
    affine, (nz, ny, nx) = volume.affine(), volume.array.shape
    x, y = affine[0, 0] * np.arange(nx) + affine[0, 3], affine[1, 1] * np.arange(ny) + affine[1, 3]
    return volume.array[nz // 2 - 2 : nz // 2 + 2, np.hypot(*np.meshgrid(x, y)) < radius_mm]


class SameAsTheProgram(PackageTest):
    def program(self, scan, *options):
        out = self.folder / "volume.mha"
        support.isocenter.must("reconstruct", scan.folder, *support.GRID, "--backend", "cpu", "--out", out, "--overwrite", *options)
        voxels = int(np.prod(GRID.shape))
        return np.frombuffer(out.read_bytes()[-4 * voxels :], "<f4").reshape(GRID.shape)

    def test_fdk_to_the_last_bit(self):
        for pixel, settings, options in (
            ("line-integrals", {}, ()),
            (
                *("counts", {"window": "hann", "cutoff": 0.8, "truncation": "cylinder", "precision": "fast"}),
                ("--window", "hann", "--cutoff", "0.8", "--truncation", "cylinder", "--precision", "fast"),
            ),
        ):
            with self.subTest(pixel):
                scan = self.scan("--pixel", pixel)
                ours = local.fdk(
                    scan.frames, scan.matrices, scan.pitch_mm, grid=GRID, i0_counts=scan.i0_counts, device="cpu", **settings
                )
                self.assertGreater(np.ptp(ours.array), 1000)
                np.testing.assert_array_equal(ours.array, self.program(scan, *options))

    def test_iterations_to_the_last_bit(self):
        scan = self.scan("--pixel", "line-integrals")
        for algorithm in ("os_sart", "os_sqs", "asd_pocs"):
            with self.subTest(algorithm):
                told = []
                ours = local.iterate(
                    *(scan.frames, scan.matrices, scan.pitch_mm),
                    grid=GRID, device="cpu", algorithm=algorithm, iterations=2, progress=told.append,
                )
                theirs = self.program(scan, "--algorithm", algorithm, "--iterations", "2")
                np.testing.assert_array_equal(ours.volume.array, theirs)
                self.assertEqual([one.iteration for one in ours.passes], [1, 2])
                self.assertLess(ours.passes[1].residual, ours.passes[0].residual)
                self.assertEqual(told, sorted(told))
                self.assertEqual(told[-1], 1)


    def test_warnings_in_the_same_words(self):
        scan = self.scan("--pixel", "counts")
        folder = self.folder / "wrong"
        shutil.copytree(scan.folder, folder)
        header = folder / "acquisition.textproto"
        header.write_text(re.sub(r"i0_counts: \d+", "i0_counts: 6000", header.read_text()))
        frames = scan.frames.copy()
        frames[20:30] = frames[20]
        frames[40] = 0
        (folder / "frames.raw").write_bytes(frames.tobytes())
        out = self.folder / "wrong.mha"
        said = support.isocenter.json_of("reconstruct", folder, *support.GRID, "--backend", "cpu", "--out", out)
        plan = local.plan_fdk(
            local.Geometry(scan.matrices, *scan.frames.shape[1:], scan.pitch_mm), GRID, dtype=np.uint16, i0_counts=6000, device="cpu"
        )
        ours = plan.warnings(frames)
        self.assertEqual(len(ours), 4, ours)
        self.assertEqual([text for text in said["warnings"] if text in ours], ours)


class Warnings(PackageTest):
    """What a service or the command would say of the same frames comes as a ReconstructionWarning."""

    def setUp(self):
        super().setUp()
        self.geometry = circular()
        self.lines = local.Phantom("head", 80).project(self.geometry)

    def warned(self, function, *arguments, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(*arguments, **{"grid": SMALL, "device": "cpu", **options})
        for one in caught:
            self.assertIs(one.category, isocenter.ReconstructionWarning)
            self.assertEqual(one.filename, __file__, "the caller's line")
        return [str(one.message) for one in caught]

    def test_a_good_scan_has_none(self):
        counts = local.counts_of(self.lines, 60000, photons=1e5)
        self.assertEqual(self.warned(local.fdk, self.lines, self.geometry), [])
        self.assertEqual(self.warned(local.fdk, counts, self.geometry, i0_counts=60000), [])
        self.assertEqual(self.warned(local.iterate, counts, self.geometry, i0_counts=60000, iterations=1), [])

    def test_frames_that_are_wrong(self):
        lines = self.lines
        counts = local.counts_of(lines, 6000, photons=1e5)
        one_dark = lines.copy()
        one_dark[7] = 0
        for pattern, frames, options in (
            ("the rows end at 6000 counts in air, where i0_counts is 60000", counts, {"i0_counts": 60000}),
            ("end with line integrals of up to 1.0", np.exp(-lines), {}),
            ("is the sign that of ln", -lines, {}),
            ("of which no detector sees such", 10 * lines, {}),
            ("99 of 100 frames, .* have the pixels of the frame before", np.repeat(lines[:1], 100, 0), {}),
            ("in 100 of 100 frames, .* all pixels of the detector have the same value", np.zeros_like(lines), {}),
            ("in 1 of 100 frames, of which the first is frame 7, all pixels", one_dark, {}),
            ("the frames do not fit their matrices", np.ascontiguousarray(lines[::-1]), {}),
        ):
            with self.subTest(pattern):
                self.assertRegex("\n".join(self.warned(local.fdk, frames, self.geometry, **options)), pattern)
        self.assertRegex("\n".join(self.warned(local.iterate, -lines, self.geometry, iterations=1)), "is the sign that")

    def test_grids_and_arcs(self):
        beside = isocenter.Grid((48, 48, 48), (4.0, 4.0, 4.0), (140.0, -94.0, -94.0))
        self.assertRegex(self.warned(local.fdk, self.lines, self.geometry, grid=beside)[0], r"see only [\d.]+ % of the grid")
        small = isocenter.Grid.cube(24, 3.0)
        iterate = {"grid": small, "iterations": 1}
        self.assertRegex(self.warned(local.iterate, self.lines, self.geometry, **iterate)[0], r"wider than the grid.*\(surroundings_factor 4\)")
        self.assertEqual(self.warned(local.iterate, self.lines, self.geometry, surroundings_factor=4, **iterate), [])
        self.assertRegex(self.warned(local.iterate, self.lines[:40], self.geometry[:40], iterations=1)[0], "the arc")

    def test_a_plan_tells_before_it_begins(self):
        plan = local.plan_fdk(self.geometry, SMALL, device="cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("error", isocenter.ReconstructionWarning)
            out = np.zeros(SMALL.shape, "<f4")
            self.assert_says(isocenter.ReconstructionWarning, "is the sign", plan.run, -self.lines, out=out)
        self.assertFalse(out.any())
        self.lines[3, 2, 1] = np.nan
        self.assert_says(isocenter.InvalidArgument, r"frames\[3, 2, 1\] is nan; legal is a finite number", plan.warnings, self.lines)
        self.lines[3, 2, 1] = 1e30
        self.assert_says(isocenter.InvalidArgument, r"frames: 1 of \d+ line integrals are not finite, or beyond 100", plan.warnings, self.lines)

    def test_what_contradicts_a_geometry_or_has_a_mask_is_refused(self):
        refused = (isocenter.InvalidArgument, r"pitch_mm is 3.0; legal is \(4.0, 4.0\), as the geometry has it, or None")
        self.assert_says(*refused, local.fdk, self.lines, self.geometry, 3.0)
        self.assertEqual(self.warned(local.fdk, self.lines, self.geometry, (4, 4.0)), [])
        masked = np.ma.masked_array(self.lines, mask=self.lines > 1)
        for function in (local.fdk, local.iterate):
            self.assert_says(isocenter.InvalidArgument, "frames is a masked array; legal is", function, masked, self.geometry)


class Reconstruction(PackageTest):
    def test_water_is_water(self):
        """Every window, arc and detector: of 48^3 voxels of 4 mm from 100 views, the mean is a few HU off; what a wrong weight does is
        hundreds (the last assertion)."""
        phantom = local.Phantom("cylinder", 80)
        displaced = isocenter.CircularOrbit(750, 1200, 360 * 99 / 100, offset_u_px=18.0)
        cases = [(circular(), {"window": window}) for window in ("ram-lak", "shepp-logan", "cosine", "hamming", "hann")]
        cases += [(circular(SHORT), {}), (circular(SHORT), {"redundancy": "short-scan"}), (circular(displaced, columns=72), {})]
        cases += [(local.Geometry.wobbling(SHORT, 100, 60, 96, 4.0), {"precision": "fast"})]
        for geometry, settings in cases:
            with self.subTest(**settings, shape=geometry.shape):
                volume = local.fdk(phantom.project(geometry), geometry, grid=SMALL, device="cpu", **settings)
                self.assertLess(abs(water(volume).mean()), 15)
        wrong = local.fdk(phantom.project(circular()), circular(ORBIT, 100, 60, 96, 3.0), grid=SMALL, device="cpu")
        self.assertGreater(abs(water(wrong).mean()), 50, "a planted fault: another pitch")

    def test_phantoms_and_counts_are_looked_at_at_once(self):
        with self.assertRaisesRegex(isocenter.NotFound, "there is no phantom 'haed'.*; did you mean head"):
            local.Phantom("haed")
        with self.assertRaisesRegex(isocenter.InvalidArgument, "scale_mm is -3; legal is 0.01 to 1000"):
            local.Phantom("head", scale_mm=-3)
        for name in local.phantom_names():
            self.assertIn(name, local.Phantom.__doc__)
        counts = np.full((20, 40, 40), 30000, np.float32)
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"the median of frames\[0\] is 30000.*i0_counts"):
            local.fdk(counts, isocenter.CircularOrbit(750, 1200, 200), 4.0, grid=isocenter.Grid.cube(8, 4))
        with self.assertRaisesRegex(isocenter.InvalidArgument, "did you mean grid"):
            local.fdk(counts / 1e6, isocenter.CircularOrbit(750, 1200, 200), 4.0, gird=isocenter.Grid.cube(8, 4))

    def test_rows_that_the_detector_cuts(self):
        """Without truncation=, water near the cut is hundreds of HU too bright; with it, a third of that at most."""
        phantom, geometry = local.Phantom("cylinder", 110), circular(columns=60)
        frames = phantom.project(geometry)
        with self.assertWarnsRegex(isocenter.ReconstructionWarning, 'without truncation "cylinder" the volume is wrong'):
            error = {
                method: abs(water(local.fdk(frames, geometry, grid=SMALL, device="cpu", truncation=method), 60).mean())
                for method in ("none", "mirror", "cylinder", "atract")
            }
        self.assertGreater(error["none"], 100)
        for method in ("mirror", "cylinder"):
            self.assertLess(error[method], error["none"] / 3, error)

    def test_a_plan_for_many_scans(self):
        geometry, phantom = circular(), local.Phantom("cylinder", 80)
        lines = phantom.project(geometry)
        plan = local.plan_fdk(geometry, SMALL, dtype=np.uint16, i0_counts=60000, device="cpu")
        self.assertIn("grid: 48x48x48 voxels of 4x4x4 mm", str(plan))
        self.assertGreater(plan.device_bytes, 4 * 48**3)
        scans = [local.counts_of(lines, 60000, photons=1e5, seed=seed) for seed in (1, 2)]
        first, second = (plan.run(scan).volume.array for scan in scans)
        out = np.empty(SMALL.shape, "<f4")
        again = plan.run(scans[0], out=out).volume
        self.assertIs(again.array, out)
        np.testing.assert_array_equal(out, first)
        self.assertGreater(np.std(first - second), 1)

    def test_iterations_begin_where_they_are_told(self):
        geometry, phantom = circular(views=40), local.Phantom("cylinder", 80)
        frames = phantom.project(geometry)
        truth = phantom.volume(SMALL, subsamples=3)
        near = local.iterate(frames, geometry, grid=SMALL, device="cpu", start=truth, algorithm="sirt", iterations=1)
        far = local.iterate(frames, geometry, grid=SMALL, device="cpu", warm_start=False, algorithm="sirt", iterations=1)
        self.assertLess(near.passes[0].residual, 0.1 * far.passes[0].residual)
        kept = truth.array.copy()
        local.iterate(frames, geometry, grid=SMALL, device="cpu", start=kept, out=kept, algorithm="sirt", iterations=1)
        np.testing.assert_array_equal(kept, near.volume.array)
        self.assert_says(
            *(isocenter.InvalidArgument, "start is given; legal with warm_start is NULL", local.iterate, frames, geometry),
            grid=SMALL, start=truth, warm_start=True,
        )

    def test_noise_is_that_of_the_photons(self):
        lines = np.full((4, 100, 100), 1.0, "<f4")
        counts = local.counts_of(lines, 60000, photons=1e4, seed=5)
        expected = 1e4 * np.exp(-1)
        # 40,000 draws: the mean to 1/200 of its deviation, five times that; the variance to 5 times its own 0.7 %.
        self.assertLess(abs(counts.mean() / 6 - expected), 5 * np.sqrt(expected) / 200)
        self.assertLess(abs(np.var(counts / 6) / expected - 1), 0.04)
        np.testing.assert_array_equal(counts, local.counts_of(lines, 60000, photons=1e4, seed=5))
        self.assertTrue((local.counts_of(lines, 60000) == round(60000 * np.exp(-1))).all())


class Stopping(PackageTest):
    def test_ctrl_c_ends_a_long_call(self):
        geometry = circular(views=400, rows=200, columns=200, pitch_mm=2.0)
        projector = local.Projector(geometry, isocenter.Grid.cube(128, 1.5), "separable_footprint", device="cpu")
        volume = np.ones((128, 128, 128), "<f4")
        # A shell may have started this with the signal ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(1000):
                projector.forward(volume)
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        # It is good for the next call.
        self.assertGreater(projector[:2].forward(volume).max(), 0)

    def test_what_a_progress_function_raises_ends_it(self):
        class Enough(Exception):
            pass

        def stop(_):
            raise Enough

        with self.assertRaises(Enough):
            local.Phantom("head").volume(isocenter.Grid.cube(64, 3.0), subsamples=4, progress=stop)

    def test_two_threads_and_one_projector(self):
        projector = local.Projector(circular(views=8), SMALL, device="cpu")
        volumes = np.random.default_rng(1).random((4, *SMALL.shape), np.float32)
        alone = [projector.forward(volume) for volume in volumes]
        beside = [None] * len(volumes)

        def work(index):
            beside[index] = projector.forward(volumes[index])

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(volumes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(alone, beside)

    def test_a_child_opens_its_own(self):
        projector = local.Projector(circular(views=4), SMALL, device="cpu")
        volume = np.ones(SMALL.shape, "<f4")
        expected = projector.forward(volume)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            said = b"nothing"
            try:
                projector.forward(volume)
            except isocenter.FailedPrecondition as error:
                own = local.Projector(circular(views=4), SMALL, device="cpu")
                same = np.array_equal(own.forward(volume), expected)
                said = str((same, str(error))).encode()
            finally:
                os.write(write, said)
                os._exit(0)
        os.close(write)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertRegex(os.read(read, 1000).decode(), r"\(True, .*of which this one, \d+, is a child; open one here")
        os.close(read)


if __name__ == "__main__":
    main()
