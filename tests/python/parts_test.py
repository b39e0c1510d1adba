"""Parts of the package that need no service: bytes on the wire, windows, pauses, geometry, files, errors."""

import gzip
import importlib.util
import os
import re
import struct
import unittest.mock

from package import isocenter, main, np, support, unittest
from isocenter import checks, crc32c, errors
from isocenter.channel import Channel
from isocenter.frame_message import frame_message
from isocenter.frame_store import FrameStore
from isocenter.frame_window import FrameWindow
from isocenter.reconnect import Opening, Reconnect
from isocenter.v1 import acquisition_pb2, geometry_pb2, jobs_pb2


class PartsTest(support.ServiceTest):
    def test_checksums(self):
        # RFC 3720, B.4.
        cases = {
            bytes(32): 0x8A9136AA,
            b"\xff" * 32: 0x62A8AB43,
            bytes(range(32)): 0x46DD794E,
            bytes(range(31, -1, -1)): 0x113FDB5C,
            b"": 0,
        }
        draws = np.random.default_rng(1)
        for data, expected in cases.items():
            self.assertEqual(crc32c.by_numpy(np.frombuffer(data, np.uint8)), expected)
            self.assertEqual(crc32c.crc32c(np.frombuffer(data, np.uint8)), expected)
        for size in (1, 1023, 1024, 1025, 50_001):
            data = draws.integers(0, 256, size, np.uint8)
            self.assertEqual(crc32c.by_numpy(data), crc32c.crc32c(data))

    def test_without_the_library_numpy_computes_checksums(self):
        data = np.arange(5000, dtype="<u2").reshape(50, 100)
        with unittest.mock.patch.object(crc32c, "_library", return_value=None):
            self.assertEqual(crc32c.crc32c(data), crc32c.by_numpy(data.reshape(-1).view(np.uint8)))

    def test_frames_are_the_bytes_of_protobuf(self):
        pixels = np.arange(12, dtype="<f4").reshape(3, 4)
        matrix = np.arange(12, dtype=float).reshape(3, 4)
        for index, measured, dose in ((0, None, 0), (1, None, 0.5), (127, matrix, 0), (128, matrix, 2), (9999, None, 0)):
            frame = acquisition_pb2.Frame(
                index=index, pixels=pixels.tobytes(), crc32c=crc32c.crc32c(pixels), has_checksum=True, dose=dose
            )
            if measured is not None:
                frame.measured_matrix.value.extend(measured.ravel())
            expected = acquisition_pb2.AcquireRequest(frame=frame).SerializeToString()
            self.assertEqual(frame_message(index, pixels, measured, dose), expected)
            with_phase = acquisition_pb2.AcquireRequest.FromString(frame_message(index, pixels, measured, dose, 0.25))
            self.assertTrue(with_phase.frame.HasField("phase"))
            self.assertEqual(with_phase.frame.phase, 0.25)

    def test_the_window_keeps_frames_until_they_are_acknowledged(self):
        window = FrameWindow(6, 3, 30)
        for index in (0, 1, 3):
            self.assertTrue(window.has_room_for(10))
            window.add(index, bytes(10))
        self.assertFalse(window.has_room_for(1))
        self.assertIsNotNone(window.next())
        acknowledgement = acquisition_pb2.Acknowledgement
        span = acquisition_pb2.FrameRange(first=3, last=4)
        self.assertEqual(window.acknowledge(acknowledgement(frame_index=0, beyond=[span])), [0, 3])
        self.assertEqual(window.acknowledge(acknowledgement(frame_index=0, beyond=[span])), [])
        self.assertEqual(window.acknowledged, 3)  # frame 4 was nobody's
        self.assertTrue(window.has(4))
        self.assertFalse(window.has(2))
        window.add(2, bytes(11))
        self.assertEqual(window.rewind(1), [])
        self.assertEqual([len(window.next()), len(window.next()), window.next()], [10, 11, None])
        self.assertTrue(window.was_released(3))
        self.assertFalse(window.was_released(1))
        self.assertEqual(window.rewind(9), [1, 2])
        self.assertTrue(window.has_room_for(1 << 40))  # one always

    def test_a_window_with_a_store_begins_again_elsewhere(self):
        acknowledgement = acquisition_pb2.Acknowledgement
        store = FrameStore(25, None)
        window = FrameWindow(4, 4, 100, store)
        for index in (0, 1, 2):
            window.add(index, bytes([index] * 10))
            window.next()
        self.assertEqual(window.acknowledge(acknowledgement(frame_index=1)), [0, 1])
        self.assertIsNone(window.why_not_again())
        # Another server has none; what it acknowledges is no news to whoever sent it.
        self.assertEqual(window.restart(0), [])
        self.assertEqual(window.acknowledged, 0)
        self.assertEqual([window.next()[0] for _ in range(3)], [0, 1, 2])
        self.assertIsNone(window.next())
        self.assertEqual(window.acknowledge(acknowledgement(frame_index=2)), [2])
        self.assertEqual(window.acknowledged, 3)
        # The third was too much for the memory.
        self.assertRegex(str(window.why_not_again()), "more than 25 bytes of memory, and no folder is set")
        resumed = FrameWindow(4, 4, 100, FrameStore(100, None))
        resumed.rewind(2)
        self.assertRegex(str(resumed.why_not_again()), "sent by another stream")

    def test_one_frame_of_another_stream_is_sent_again_as_a_proof(self):
        window = FrameWindow(4, 4, 100)
        window.rewind(2)
        self.assertFalse(window.lacks_proof(2))
        self.assertTrue(window.lacks_proof(1))
        window.add(2, b"2")
        window.add_proof(b"1")
        self.assertFalse(window.lacks_proof(0))  # one suffices
        self.assertEqual([window.next(), window.next(), window.next()], [b"1", b"2", None])
        window.rewind(2)  # the connection broke: the proof is not owed again
        self.assertEqual([window.next(), window.next()], [b"2", None])

    def test_frames_are_kept_in_memory_and_beyond_it_in_a_file(self):
        store = FrameStore(10, str(self.folder))
        self.addCleanup(store.close)
        for index in range(4):
            store.put(index, bytes([index] * 6))
        self.assertIsNone(store.incomplete)
        self.assertEqual([store.get(index) for index in (3, 0, 2, 1)], [bytes([index] * 6) for index in (3, 0, 2, 1)])
        with self.assertRaisesRegex(isocenter.NotFound, "frame 4 was not kept"):
            store.get(4)
        nowhere = FrameStore(0, str(self.folder / "missing"))
        nowhere.put(0, b"a")
        self.assertRegex(str(nowhere.incomplete), "missing': No such file")

    def test_what_broke_is_tried_again_and_what_a_server_means_is_not(self):
        broke = errors.Unavailable("Socket closed", errors.Break.CONNECTION)
        reconnect = Reconnect(10)
        self.assertIsNone(reconnect.verdict(broke, False, 100))
        self.assertIsNone(reconnect.verdict(broke, False, 109))
        self.assertRegex(str(reconnect.verdict(broke, False, 111)), "no new connection within 10 s: Socket closed")
        self.assertIsNone(reconnect.verdict(broke, True, 112))
        meant = errors.Internal("no")
        self.assertEqual([reconnect.verdict(meant, False, 113) for _ in range(3)], [None, None, meant])
        for final in (errors.NotFound("a"), errors.ResourceExhausted("b"), errors.InvalidArgument("c"), errors.Aborted("d")):
            self.assertIs(Reconnect(10).verdict(final, True, 0), final)
        self.assertIs(Reconnect(0).verdict(broke, True, 0), broke)
        pauses = [Reconnect(10).pause() for _ in range(50)]
        self.assertTrue(all(0.025 <= pause <= 0.05 for pause in pauses))

    def test_openings_are_repeated_where_they_may_have_begun_something(self):
        unreachable = errors.Unavailable("a", errors.Break.UNREACHABLE)
        handshake = errors.Unavailable("b", errors.Break.HANDSHAKE)
        broke = errors.Unavailable("c", errors.Break.CONNECTION)
        self.assertIs(Opening(10).verdict(unreachable, 0), unreachable)
        opening = Opening(10)
        self.assertIsNone(opening.verdict(handshake, 0))
        self.assertIs(opening.verdict(handshake, 3), handshake)
        opening = Opening(10)
        self.assertIsNone(opening.verdict(broke, 0))
        self.assertIsNone(opening.verdict(unreachable, 5))  # it may have admitted it

    def test_what_is_mistyped_is_refused_at_once(self):
        with self.assertRaisesRegex(isocenter.InvalidArgument, "grid is 64; legal is a Grid"):
            isocenter.Acquisition(2, 4, 4, 1.0, None, grid=64)
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"spacing_mm\[0\] is '1'; legal is a number"):
            isocenter.Grid.cube(64, "1")
        with self.assertRaisesRegex(isocenter.InvalidArgument, "arc_deg is 0; legal is -720 to 720 but 0"):
            isocenter.CircularOrbit(750, 1200, 0)
        frames = np.zeros((2, 4, 4), np.float32)
        with self.assertRaisesRegex(TypeError, "unknown argument 'gird'.*; did you mean grid"):
            isocenter.Acquisition.of(frames, None, 1.0, gird=isocenter.Grid.cube(4, 1))
        with self.assertRaisesRegex(isocenter.InvalidArgument, "patient is 'Doe'; legal is fields of PatientStudy by name"):
            isocenter.Acquisition.of(frames, None, 1.0, patient="Doe")
        # Nothing listens there: what is refused is so before a connection is tried.
        with isocenter.connect("127.0.0.1:1") as service:
            orbit = isocenter.CircularOrbit(750, 1200, 200)
            counts = np.full((2, 300, 300), 40000, np.float32)
            for call in (service.reconstruct, service.submit):
                with self.assertRaisesRegex(isocenter.InvalidArgument, r"the median of frames\[0\] is 40000; legal is up to 50 .*i0_counts"):
                    call(counts, orbit, 1.0)
            with self.assertRaisesRegex(TypeError, "did you mean failover_after_s"):
                service.stream(isocenter.Acquisition(2, 4, 4, 1.0, orbit), failover_after=3)

    def test_a_mask_is_never_left_out_silently(self):
        masked = np.ma.masked_array(np.zeros((2, 4, 4), np.float32), mask=True)
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"frames is a masked array; legal is .*frames\.filled\(value\)"):
            isocenter.Acquisition.of(masked, None, 1.0)
        with self.assertRaisesRegex(isocenter.InvalidArgument, "pixels is a masked array"):
            checks.pixel_array("pixels", masked[0], "rows, columns")
        with self.assertRaisesRegex(isocenter.InvalidArgument, "matrices is a masked array"):
            isocenter.Acquisition(2, 4, 4, 1.0, np.ma.masked_array(np.ones((2, 3, 4))))

    def test_a_single_bright_pixel_is_no_frame_of_counts(self):
        frame = np.zeros((300, 500), np.float32)
        frame[::2, :100] = 1e6
        checks.line_integrals("frame", frame)
        with self.assertRaises(isocenter.InvalidArgument):
            checks.line_integrals("frame", frame + 51)

    def test_grids_and_their_affines(self):
        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10, 20, 30), ((0, -1, 0), (1, 0, 0), (0, 0, 1)))
        self.assertEqual(grid.shape, (2, 3, 4))
        np.testing.assert_array_equal(grid.affine() @ [1, 0, 0, 1], [10, 21, 30, 1])
        np.testing.assert_array_equal(grid.affine() @ [0, 1, 1, 1], [8, 20, 33, 1])
        np.testing.assert_array_equal(grid.affine_ras() @ [0, 0, 0, 1], [-10, -20, 30, 1])
        self.assertEqual(isocenter.Grid.from_proto(grid.to_proto()), grid)
        np.testing.assert_array_equal(isocenter.Grid.cube(3, 2).affine() @ [1, 1, 1, 1], [0, 0, 0, 1])
        one = geometry_pb2.VolumeGrid(nx=1, ny=1, nz=1, spacing_x_mm=1, spacing_y_mm=1, spacing_z_mm=1)
        self.assertEqual(isocenter.Grid.from_proto(one).size, (1, 1, 1))
        for pattern, arguments in (
            (r"grid.size\[1\] is 5000; legal is 1 to 4096", ((1, 5000, 1), (1, 1, 1))),
            (r"grid.size\[0\] is 1.5; legal is a whole", ((1.5, 1, 1), (1, 1, 1))),
            (r"grid.size is \(1, 1\); legal is 3 values", ((1, 1), (1, 1, 1))),
            (r"grid.spacing_mm\[2\] is 0; legal is 0.0001 to 100", ((1, 1, 1), (1, 1, 0))),
            (r"grid.direction is .* perpendicular", ((1, 1, 1), (1, 1, 1), None, ((1, 0, 0), (1, 1, 0), (0, 0, 1)))),
        ):
            with self.assertRaisesRegex(isocenter.InvalidArgument, pattern):
                isocenter.Grid(*arguments)

    def test_grids_of_affines(self):
        turned = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0), turned)
        self.assertEqual(isocenter.Grid.from_affine(grid.affine(), grid.size), grid)
        self.assertEqual(isocenter.Grid.from_affine_ras(grid.affine_ras(), grid.size), grid)
        for pattern, affine in (
            ("legal is a finite 4x4 matrix", np.eye(3)),
            ("legal is a finite 4x4 matrix", np.diag([1, 1, np.nan, 1])),
            ("legal is one whose columns are not zero", np.diag([1, 0, 1, 1])),
            ("no shear", np.eye(4) + np.eye(4, k=1) * [0, 1, 0, 0]),
        ):
            with self.assertRaisesRegex(isocenter.InvalidArgument, pattern):
                isocenter.Grid.from_affine(affine, (1, 1, 1))

    def test_axes_of_dicom(self):
        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0))
        self.assertEqual(grid.image_orientation_patient, (1, 0, 0, 0, 1, 0))
        self.assertEqual(grid.image_position_patient(1), (10, 20, 33))
        self.assertEqual(grid.pixel_spacing, (2, 1))
        self.assertEqual(grid.in_patient("HFS"), grid)
        # Feet first, face down: left stays, what was behind is in front, what was above is below.
        prone = grid.in_patient("FFP")
        np.testing.assert_array_equal(prone.affine() @ [0, 0, 1, 1], [10, -20, -33, 1])
        self.assertEqual(prone.image_orientation_patient, (1, 0, 0, 0, -1, 0))
        for position in ("HFS", "HFP", "HFDR", "HFDL", "FFS", "FFP", "FFDR", "FFDL"):
            self.assertAlmostEqual(np.linalg.det(np.array(grid.in_patient(position).direction)), 1)
        with self.assertRaisesRegex(isocenter.InvalidArgument, "position is 'HF'; legal is HFS, HFP"):
            grid.in_patient("HF")
        volume = isocenter.Volume(np.zeros((2, 3, 4), "<f4"), grid)
        self.assertIs(volume.in_patient("FFP").array, volume.array)

    def test_the_positions_are_those_of_the_service(self):
        """kernels/geometry/patient_position.cc has the same table."""
        text = (support.ROOT / "kernels/geometry/patient_position.cc").read_text()
        rows = re.findall(r'\{"(\w+)", \{(.*?)\}, \{(.*?)\}, \{(.*?)\}\}', text)
        self.assertEqual(len(rows), 8)
        for name, *axes in rows:
            grid = isocenter.Grid.cube(1, 1.0).in_patient(name)
            np.testing.assert_array_equal(np.array(grid.direction), [[int(one) for one in axis.split(",")] for axis in axes])

    @unittest.skipUnless(importlib.util.find_spec("nibabel"), "install python3-nibabel (./dev setup)")
    def test_nibabel(self):
        import nibabel  # pylint: disable=import-outside-toplevel

        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0), ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
        volume = isocenter.Volume(np.arange(24, dtype="<f4").reshape(2, 3, 4), grid)
        self.assertRegex(repr(volume), r"^Volume\(4 x 3 x 2 voxels of [\d. x]+ mm, 0 to 23 HU\)$")
        volume.save_nifti(self.folder / "a.nii")
        flip = np.diag([-1.0, 1, 1, 1])
        flip[0, 3] = 3
        image = isocenter.to_nibabel(volume)
        left_handed = nibabel.Nifti1Image(image.get_fdata()[::-1], image.affine @ flip)
        for read in (image, nibabel.load(self.folder / "a.nii"), left_handed):
            back = isocenter.from_nibabel(read)
            np.testing.assert_array_equal(back.array, volume.array)
            np.testing.assert_allclose(back.affine(), volume.affine(), atol=1e-6)
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"image.shape is \(2, 2\); legal is 3 dimensions"):
            isocenter.from_nibabel(nibabel.Nifti1Image(np.zeros((2, 2)), np.eye(4)))

    def test_simpleitk(self):
        """A stand-in with the methods of SimpleITK.Image that are used, as its documentation has them: Debian does not package it."""
        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0), ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
        volume = isocenter.Volume(np.arange(24, dtype="<f4").reshape(2, 3, 4), grid)
        image = unittest.mock.Mock(array=volume.array.astype("i2"))
        image.GetDimension.return_value, image.GetSize.return_value = 3, grid.size
        library = unittest.mock.Mock(GetImageFromArray=lambda array: image, GetArrayFromImage=lambda image: image.array)
        with unittest.mock.patch.dict("sys.modules", SimpleITK=library):
            self.assertIs(isocenter.to_sitk(volume), image)
            for name in ("Origin", "Spacing", "Direction"):
                (value,) = getattr(image, f"Set{name}").call_args.args
                getattr(image, f"Get{name}").return_value = value
            back = isocenter.from_sitk(image)
            self.assertEqual((back.grid, back.array.dtype), (grid, np.float32))
            np.testing.assert_array_equal(back.array, volume.array)
            image.GetDimension.return_value = 2
            with self.assertRaisesRegex(isocenter.InvalidArgument, r"GetDimension\(\) is 2; legal is 3"):
                isocenter.from_sitk(image)

    def test_a_library_that_is_not_installed(self):
        volume = isocenter.Volume(np.zeros((1, 1, 1), "<f4"), isocenter.Grid.cube(1, 1.0))
        with unittest.mock.patch.dict("sys.modules", SimpleITK=None):
            with self.assertRaisesRegex(isocenter.NotFound, "SimpleITK is not installed: pip install SimpleITK"):
                isocenter.to_sitk(volume)

    def test_progress_is_told(self):
        from isocenter import progress  # pylint: disable=import-outside-toplevel

        shares = []
        with progress.told(shares.append, "work") as show:
            show(0.5)
        self.assertEqual(shares, [0.5])
        for silent in (None, False):
            with progress.told(silent, "work") as show:
                self.assertIsNone(show)
        with unittest.mock.patch.dict("sys.modules", tqdm=None), progress.told(True, "work") as show:
            self.assertIsNone(show)

    def test_nifti_files(self):
        grid = isocenter.Grid((4, 3, 2), (1.0, 2.0, 3.0), (10, 20, 30))
        volume = isocenter.Volume(np.arange(24, dtype="<f4").reshape(2, 3, 4), grid)
        self.assertEqual((volume.origin, volume.spacing, volume.direction[:2]), ((10, 20, 30), (1, 2, 3), (1, 0)))
        volume.save_nifti(self.folder / "a.nii")
        data = (self.folder / "a.nii").read_bytes()
        self.assertEqual(len(data), 352 + 96)
        self.assertEqual(struct.unpack_from("<4h", data, 40), (3, 4, 3, 2))
        self.assertEqual(struct.unpack_from("<12f", data, 280), (-1, 0, 0, -10, 0, -2, 0, -20, 0, 0, 3, 30))
        np.testing.assert_array_equal(np.frombuffer(data, "<f4", offset=352), np.arange(24))
        volume.save_nifti(self.folder / "a.nii.gz")
        self.assertEqual(gzip.decompress((self.folder / "a.nii.gz").read_bytes()), data)
        with self.assertRaisesRegex(isocenter.AlreadyExists, r"a.nii is there already; legal is .* overwrite=True"):
            isocenter.Volume(volume.array + 1, grid).save_nifti(self.folder / "a.nii")
        self.assertEqual((self.folder / "a.nii").read_bytes(), data)
        isocenter.Volume(volume.array + 1, grid).save_nifti(self.folder / "a.nii", overwrite=True)
        self.assertNotEqual((self.folder / "a.nii").read_bytes(), data)
        self.assertEqual(sorted(file.name for file in self.folder.glob("a.*")), ["a.nii", "a.nii.gz"])
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"'a.mha'; legal is a name that ends with .nii"):
            volume.save_nifti("a.mha")
        with self.assertRaisesRegex(isocenter.InvalidArgument, r"array.shape is \(2, 3, 4\); legal is \(3, 3, 3\)"):
            isocenter.Volume(volume.array, isocenter.Grid.cube(3, 1))

    def test_another_reader_reads_our_nifti(self):
        grid = isocenter.Grid((8, 7, 6), (1.0, 2.0, 3.0), (10, -20, 30))
        values = np.random.default_rng(3).normal(0, 500, grid.shape).astype("<f4")
        isocenter.Volume(values, grid).save_nifti(self.folder / "a.nii.gz")
        out = support.isocenter.json_of("compare", self.folder / "a.nii.gz", "--truth", self.folder / "a.nii.gz")
        self.assertTrue(out)

    def test_ideal_orbits(self):
        orbit = isocenter.CircularOrbit(750, 1200, 200, start_angle_deg=10, offset_u_px=2, offset_v_px=-1)
        matrices = isocenter.circular_matrices(orbit, 5, 12, 16, 0.5)
        np.testing.assert_allclose(matrices[:, 2, 3], 1)
        # The isocentre falls on the principal point.
        np.testing.assert_allclose(matrices[:, :2, 3], [[9.5, 4.5]] * 5)
        for index, angle in enumerate(np.radians(10 + 50 * np.arange(5))):
            source = 750 * np.array([np.cos(angle), np.sin(angle), 0])
            np.testing.assert_allclose(matrices[index] @ [*source, 1], 0, atol=1e-9)
            u, v, w = matrices[index] @ [-np.sin(angle), np.cos(angle), 1, 1]
            np.testing.assert_allclose([u / w, v / w], [9.5 + 1200 / 750 / 0.5, 4.5 - 1200 / 750 / 0.5])
        with self.assertRaisesRegex(isocenter.InvalidArgument, "source_to_detector_mm is 700; legal is more than 750"):
            isocenter.CircularOrbit(750, 700, 200)

    def test_downloads_that_are_not_what_was_announced(self):
        channel = Channel("127.0.0.1:1")
        self.addCleanup(channel.close)
        job, piece = isocenter.Job(channel, "x"), jobs_pb2.DownloadResultResponse
        grid = isocenter.Grid((2, 1, 1), (1, 1, 1), (0, 0, 0)).to_proto()

        def given(*pieces):
            return unittest.mock.patch.object(job, "_download", return_value=iter(pieces))

        with given(piece(grid=grid, data=bytes(3)), piece(data=bytes(5))):
            np.testing.assert_array_equal(job.volume().array, np.zeros((1, 1, 2)))
        for pattern, pieces in (
            ("all bytes are missing", ()),
            ("1 bytes are missing", (piece(grid=grid, data=bytes(7)),)),
            ("more than the 8 bytes", (piece(grid=grid, data=bytes(9)),)),
        ):
            with given(*pieces), self.assertRaisesRegex(isocenter.DataLoss, pattern):
                job.volume()
        with given(piece(grid=geometry_pb2.VolumeGrid(nx=100000))), self.assertRaisesRegex(isocenter.InvalidArgument, "is 100000"):
            job.volume()
        whole = piece(file_name="a", data=b"1", end_of_file=True)
        for index, (pattern, pieces) in enumerate((
            ("announced 2 DICOM files and sent 1", (piece(file_count=2), whole)),
            ("announced 0 DICOM files and sent 0", ()),
            ("announced 1 DICOM files and sent 1", (piece(file_count=1), piece(file_name="a", data=b"1"))),
            ("belong to no file", (piece(file_count=1), piece(data=b"1"))),
            ("before it ended", (piece(file_count=2), piece(file_name="a"), piece(file_name="b"))),
            ("not a plain one: '../a'", (piece(file_count=1), piece(file_name="../a"))),
            ("not a plain one: '..'", (piece(file_count=1), piece(file_name=".."))),
        )):
            with given(*pieces), self.assertRaisesRegex(isocenter.DataLoss, pattern):
                job.save_dicom(self.folder / str(index))

    def test_no_file_of_a_download_is_replaced(self):
        channel = Channel("127.0.0.1:1")
        self.addCleanup(channel.close)
        job, folder = isocenter.Job(channel, "x"), self.folder / "series"

        def save(where, data):
            piece = jobs_pb2.DownloadResultResponse
            pieces = (piece(file_count=1), piece(file_name="a.dcm", data=data, end_of_file=True))
            with unittest.mock.patch.object(job, "_download", return_value=iter(pieces)):
                return job.save_dicom(where)

        (file,) = save(folder, b"first")
        with self.assertRaisesRegex(isocenter.AlreadyExists, r"series/a\.dcm is there already; legal is a folder") as caught:
            save(folder, b"second")
        self.assertIsInstance(caught.exception, FileExistsError)
        self.assertEqual(file.read_bytes(), b"first")
        with self.assertRaisesRegex(isocenter.AlreadyExists, r"a\.dcm is there already, and no folder"):
            save(file, b"third")

    def test_addresses_and_credentials(self):
        (self.folder / "token").write_text("secret\n")
        (self.folder / "two words").write_text("a token\n")
        token, key, cut = (self.folder / name for name in ("token", "key", "cut"))
        key.write_text("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n")
        cut.write_text("-----BEGIN CERTIFICATE-----\nMAA=\n")
        for kind, pattern, arguments in (
            (isocenter.InvalidArgument, "address is 'http://host:1'; legal is HOST:PORT", {"address": "http://host:1"}),
            (isocenter.InvalidArgument, "address is 'two words'", {"address": "two words"}),
            (isocenter.InvalidArgument, "holds PRIVATE KEY; legal is a PEM file with BEGIN CERTIFICATE", {"address": "127.0.0.1:1", "ca_file": key}),
            (isocenter.InvalidArgument, "holds nothing whole", {"address": "127.0.0.1:1", "ca_file": cut}),
            (isocenter.InvalidArgument, "plain text to 10.0.0.1:1: give ca_file", {"address": "10.0.0.1:1", "token_file": token}),
            (isocenter.InvalidArgument, "is no token: it has blanks; legal is one word", {"address": "127.0.0.1:1", "token_file": self.folder / "two words"}),
            (isocenter.InvalidArgument, "no regular file", {"address": "127.0.0.1:1", "token_file": self.folder}),
            (isocenter.NotFound, "does not exist", {"address": "127.0.0.1:1", "ca_file": self.folder / "none"}),
            (isocenter.InvalidArgument, "no PEM file", {"address": "127.0.0.1:1", "ca_file": token}),
            (isocenter.InvalidArgument, "must be given together", {"address": "127.0.0.1:1", "certificate_file": token}),
        ):
            with self.assertRaisesRegex(kind, pattern):
                Channel(**arguments)
        for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/isocenter"):
            channel = Channel(address, token_file=token)
            self.assertEqual(channel.metadata(), (("authorization", "Bearer secret"),))
            channel.close()

    def test_a_host_alone_means_the_default_port(self):
        for given, meant in (("localhost", "localhost:50051"), ("[::1]", "[::1]:50051"), ("recon-1.example", "recon-1.example:50051")):
            channel = Channel(given)
            self.assertEqual(channel.address, meant)
            channel.close()

    def test_why_no_connection_came_about_is_told_in_our_words(self):
        failed = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7: "
        for text, said in (
            (failed + "Failed to connect to remote host: Connection refused", "nothing listens at 10.0.0.1:7"),
            (failed + "Ssl handshake failed: SSL_ERROR_SSL: WRONG_VERSION_NUMBER", "10.0.0.1:7 speaks no TLS"),
            (failed + "Trying to connect an http1.x server", "10.0.0.1:7 is a web server"),
            (failed + "Socket closed", "10.0.0.1:7 ended the connection"),
            (failed + "certificate verify failed", "not of an authority in ca_file"),
            (failed + "Network is unreachable", "no network leads to 10.0.0.1:7"),
            ("DNS resolution failed for nowhere:1: C-ares status", "no address is known of nowhere:1"),
            ("empty address list: ", "is private_key_file the key of certificate_file"),
            ("Socket closed", "the connection to the server broke"),
        ):
            error = errors._unavailable(text)
            self.assertIn(said, str(error))
            for words in ("failed to connect", "last error", "UNKNOWN", "SSL", "C-ares", "address list", "Socket"):
                self.assertNotIn(words, str(error))

    def test_a_proxy_of_the_environment_is_named(self):
        refused = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:3128: HTTP proxy returned response code 403"
        for environment, told in (
            ({"http_proxy": "http://proxy:3128"}, "that is the proxy of http_proxy in the environment: no_proxy"),
            ({"grpc_proxy": "", "https_proxy": "http://me:secret@proxy:3128/"}, "that is the proxy of https_proxy in the environment"),
            ({"http_proxy": "http://proxy:8080"}, None),
            ({}, None),
        ):
            with unittest.mock.patch.dict(os.environ, environment):
                error = str(errors._unavailable(refused))
            self.assertNotIn("secret", error)
            if told:
                self.assertIn("no answer from 10.0.0.1:3128", error)
                self.assertIn(told, error)
            else:
                self.assertNotIn("proxy", error)

    def test_what_waiting_does_not_mend_is_a_kind_of_its_own(self):
        failed = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7: "
        for text, how in (
            ("certificate verify failed", errors.Break.MISMATCH),
            ("Peer name a is not in peer certificate", errors.Break.MISMATCH),
            ("SSL_ERROR_SSL: WRONG_VERSION_NUMBER", errors.Break.MISMATCH),
            ("missing selected ALPN property", errors.Break.MISMATCH),
            ("Trying to connect an http1.x server", errors.Break.MISMATCH),
            ("Failed parsing HTTP/2", errors.Break.MISMATCH),
            ("Socket closed", errors.Break.HANDSHAKE),
            ("Connection refused", errors.Break.UNREACHABLE),
        ):
            self.assertEqual(errors._unavailable(failed + text).how, how, text)

    def test_what_may_be_taken_later_is_told_from_what_must_change(self):
        class Refusal(errors.grpc.RpcError):
            def __init__(self, **trailers):
                super().__init__()
                self.trailers = tuple((key.replace("_", "-"), value) for key, value in trailers.items())

            def code(self):
                return errors.grpc.StatusCode.RESOURCE_EXHAUSTED

            def details(self):
                return "full; try again"

            def trailing_metadata(self):
                return self.trailers

        for trailers, try_again, after in (
            ({}, False, None),
            ({"isocenter_try_again": "later"}, True, None),
            ({"isocenter_try_again": "later", "isocenter_retry_after_ms": "1500"}, True, 1.5),
        ):
            error = errors.from_grpc(Refusal(**trailers))
            self.assertEqual((error.code, error.try_again, error.retry_after_s), ("RESOURCE_EXHAUSTED", try_again, after))

    def test_a_token_that_is_renewed_is_read_again(self):
        token, renewed = self.folder / "token", self.folder / "renewed"
        token.write_text("first\n")
        channel = Channel("127.0.0.1:1", token_file=token, node="recon-1")
        self.addCleanup(channel.close)
        self.assertEqual(channel.metadata(), (("isocenter-node", "recon-1"), ("authorization", "Bearer first")))
        renewed.write_text("second\n")
        renewed.rename(token)
        self.assertEqual(channel.metadata()[1], ("authorization", "Bearer second"))
        token.unlink()  # it is being replaced
        self.assertEqual(channel.metadata()[1], ("authorization", "Bearer second"))
        token.write_text("third\n")
        self.assertEqual(channel.metadata()[1], ("authorization", "Bearer third"))


if __name__ == "__main__":
    main()
