"""Whole scans from NumPy arrays: the volumes of the C++ client, previews and warnings, cancelling, what is refused."""

import threading

from package import GRID, PackageTest, count_jobs, isocenter, main, np, support


class StreamingTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.service()
        self.client = self.connect(self.daemon.grpc)

    def assert_is_the_other_clients(self, scan):
        """As the C++ client sends and fetches it, in every bit."""
        volume = self.client.reconstruct(scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)
        job = support.isocenter.json_of("stream", scan.folder, "--server", self.daemon.grpc, *support.GRID)["job_id"]
        self.assertEqual(volume.array.tobytes(), self.fetch_voxels(self.daemon, job))
        self.assertGreater(volume.array.std(), 100)
        return volume

    def test_counts_give_the_volume_of_the_other_client(self):
        volume = self.assert_is_the_other_clients(self.scan())
        self.assertEqual(volume.array.shape, (64, 64, 64))
        np.testing.assert_allclose(volume.affine()[:3, 3], [-94.5] * 3)
        np.testing.assert_allclose(volume.affine_ras() @ [0, 0, 0, 1], [94.5, 94.5, -94.5, 1])

    def test_line_integrals_give_the_volume_of_the_other_client(self):
        self.assert_is_the_other_clients(self.scan("--pixel", "line-integrals"))

    def test_a_patient_that_lies_otherwise_turns_the_affine(self):
        scan = self.scan()
        header = isocenter_header(patient_position="FFS")
        acquisition = scan.acquisition(header=header, patient={"patient_name": "Doe^Jane"})
        with self.client.stream(acquisition) as stream:
            stream.send_all(scan.frames)
            job = self.client.job(stream.finish().job_id)
        volume = job.volume()
        # Feet first: the world's z goes to the feet, x to the right.
        self.assertEqual(np.sign(np.diag(volume.affine())).tolist(), [-1, 1, -1, 1])
        self.assertEqual(job.status().result.grid.nx, 64)

    def test_previews_warnings_and_progress(self):
        scan = self.scan()
        events = []
        with self.client.stream(scan.acquisition()) as stream:
            kept = [frame for index, frame in enumerate(scan.frames) if index not in (50, 51)]
            indices = [index for index in range(100) if index not in (50, 51)]
            thread = threading.Thread(target=lambda: [stream.send(i, f) for i, f in zip(indices, kept)] and stream.finish())
            thread.start()
            events.extend(stream.events())
            thread.join()
            self.assertEqual(stream.acknowledged_frames, 100)
        warnings = [e for e in events if isinstance(e, isocenter.JobWarning)]
        self.assertTrue(any(w.kind == "frame_gap" for w in warnings), warnings)
        progress = [e for e in events if isinstance(e, isocenter.Progress)]
        self.assertEqual(progress[-1].frames_lost, 2)
        # The job is kept, and whoever watches it sees previews of their shapes.
        job = self.client.job(stream.job_id)
        self.assertEqual(job.wait(60).job_id, stream.job_id)
        for preview in (e for e in events if isinstance(e, isocenter.Preview)):
            self.assertEqual(preview.planes["axial"].hounsfield.ndim, 2)

    def test_a_gap_is_told_also_to_those_who_do_not_ask(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition()) as stream:
            for index in (*range(20), *range(22, 100)):
                stream.send(index, scan.frames[index])
            self.assertEqual(len(stream.finish().warning), 1)
        dark = scan.frames.copy()
        dark[30:40] = 0
        with self.assertWarnsRegex(isocenter.ReconstructionWarning, "show nothing"):
            self.client.reconstruct(dark, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)

    def test_previews_of_a_slow_scan(self):
        scan, previews = self.scan(), []
        with self.client.stream(scan.acquisition()) as stream:
            frames = (frame for frame in scan.frames if not threading.Event().wait(0.02))
            stream.send_all(frames, background=True)
            previews.extend(e for e in stream.events() if isinstance(e, isocenter.Preview))
            result = stream.finish()
        self.assertEqual(result.grid.nx, 64)
        self.assertTrue(previews)
        self.assertEqual(sorted(previews[-1].planes), ["axial", "coronal", "sagittal"])
        self.assertEqual(previews[-1].planes["axial"].hounsfield.shape, (64, 64))
        self.assertEqual(previews[-1].planes["axial"].spacing_mm, (3, 3))

    def test_frames_in_any_order_and_twice(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition()) as stream:
            # Pairs the wrong way round: frames that are much later than their neighbours are replaced.
            for index in [*(index ^ 1 for index in range(100)), 7, 7]:
                stream.send(index, scan.frames[index])
            job = self.client.job(stream.finish().job_id)
        straight = self.client.reconstruct(scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)
        self.assertEqual(job.volume().array.tobytes(), straight.array.tobytes())

    def test_a_window_of_one_frame_is_enough(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition(), max_frames_in_flight=1, max_bytes_in_flight=1) as stream:
            stream.send_all(scan.frames)
            self.assertEqual(stream.finish().job_id, stream.job_id)

    def test_cancelling_a_job(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition()) as stream:
            stream.send(0, scan.frames[0])
            job = self.client.job(stream.job_id)
            job.cancel()
            self.assert_says(isocenter.IsocenterError, "cancel", stream.finish)
        self.assertEqual(job.state, "cancelled")
        self.assert_says(isocenter.Cancelled, "cancel", job.wait, 30)
        self.assert_says(isocenter.FailedPrecondition, "ended|cancelled|completed", job.volume)

    @staticmethod
    def _send_and_finish(stream, frames):
        for index, pixels in frames:
            stream.send(index, pixels)
        stream.finish()

    def test_a_stream_that_is_closed_leaves_a_job_that_another_goes_on_with(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition()) as stream:
            for index in range(40):
                stream.send(index, scan.frames[index])
            support.process.wait_until(lambda: stream.acknowledged_frames == 40, 60, "40 acknowledged frames")
        self.assert_says(isocenter.Cancelled, "console", stream.send, 40, scan.frames[40])
        with self.client.resume(stream.job_id, scan.acquisition()) as another:
            self.assert_says(isocenter.InvalidArgument, "frame 7", self._send_and_finish, another, [(7, scan.frames[8])])
        with self.client.resume(stream.job_id, scan.acquisition()) as again:
            self.assertEqual(again.accepted.next_frame_index, 40)
            again.send(7, scan.frames[7])
            for index in range(40, 100):
                again.send(index, scan.frames[index])
            again.finish()
        straight = self.client.reconstruct(scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)
        self.assertEqual(self.client.job(stream.job_id).volume().array.tobytes(), straight.array.tobytes())
        other = isocenter.Acquisition.of(scan.frames[:99].copy(), scan.matrices[:99], scan.pitch_mm, i0_counts=1000)
        self.assert_says(isocenter.InvalidArgument, "frame_count is 99.*100|100.*99", self.client.resume, stream.job_id, other)
        self.assert_says(isocenter.NotFound, "no-such-job", self.client.resume, "no-such-job", scan.acquisition())

    def test_what_a_callback_raises_ends_the_stream(self):
        scan = self.scan()

        def fails(event):
            raise RuntimeError(f"no room for {type(event).__name__}")

        with self.client.stream(scan.acquisition(), on_event=fails) as stream:
            with self.assertRaisesRegex(RuntimeError, "no room for"):
                stream.send_all(scan.frames)
                stream.finish()

    def test_what_goes_wrong_in_the_background_is_told(self):
        scan = self.scan("--pixel", "line-integrals")
        frames = list(scan.frames[:3].copy())
        frames[2][5, 6] = np.nan
        with self.client.stream(scan.acquisition()) as stream:
            stream.send_all(frames, background=True)
            self.assert_says(isocenter.InvalidArgument, r"frame 2\[5, 6\] is nan", lambda: list(stream.events()))
            self.assert_says(isocenter.InvalidArgument, r"frame 2\[5, 6\] is nan", stream.finish)

    def refused(self, pattern, frames, **fields):
        scan = self.scan()
        arguments = {"trajectory": scan.matrices, "pitch_mm": scan.pitch_mm, "i0_counts": scan.i0_counts, "grid": GRID, **fields}
        return self.assert_says(isocenter.InvalidArgument, pattern, self.client.submit, frames, **arguments)

    def test_what_is_no_scan_is_refused_before_anything_is_sent(self):
        scan = self.scan()
        counts = scan.frames
        self.refused(r"frames is of type list; legal is a numpy.ndarray", [1, 2])
        self.refused(r"frames.dtype is float64; legal is uint16 .* float32", counts.astype(np.float64))
        self.refused(r"frames.dtype is >u2", counts.astype(">u2"))
        self.refused(r"frames.dtype is object", np.empty((2, 3, 4), object))
        self.refused(r"frames.shape is \(120, 155\); legal is 3 dimensions \(frames, rows, columns\)", counts[0])
        self.refused(r"frames.strides is .*ascontiguousarray", counts[:, ::2])
        self.refused(r"frames.strides is .*ascontiguousarray", counts.transpose(0, 2, 1))
        self.refused(r"frames.shape, frames, is 0; legal is 1 to 10000", counts[:0])
        # Terabytes that are only claimed: their pixels are not looked at.
        huge = np.lib.stride_tricks.as_strided(counts, (4000, 16384, 16384), (0, 0, 0))
        self.assertGreater(huge.nbytes, 2e12)
        self.refused(r"frames.shape, rows, is 16384; legal is 1 to 8192", huge)
        sparse = np.memmap(self.folder / "sparse", "<u2", "w+", shape=(10000, 8192, 8192))
        self.refused(r"frames is 1342177280000 bytes; legal is up to", sparse, trajectory=isocenter.CircularOrbit(750, 1200, 200))
        self.refused(r"i0_counts, which counts need, is None", counts, i0_counts=None)
        self.refused(r"i0_counts, which counts need, is 0; legal is 1 to 65535", counts, i0_counts=0)
        self.refused(r"matrices.shape is \(99, 3, 4\); legal is \(100, 3, 4\)", counts, trajectory=scan.matrices[:99])
        self.refused(r"matrices.shape is \(100, 4, 4\)", counts, trajectory=np.zeros((100, 4, 4)))
        broken = scan.matrices.copy()
        broken[3, 1, 2] = np.inf
        self.refused(r"matrices\[3, 1, 2\] is inf; legal is a finite number", counts, trajectory=broken)
        behind = scan.matrices.copy()
        behind[4] *= -1
        self.refused(r"w of matrices\[4\] at the isocentre .* is -1\.?\d*; legal is above 0", counts, trajectory=behind)
        self.refused(r"pitch_mm is -1; legal is more than 0 and at most 10", counts, pitch_mm=-1)
        self.refused(r"pitch_mm is nan", counts, pitch_mm=float("nan"))
        self.refused(r"job_class is 'now'; legal is live or interactive or batch", counts, job_class="now")
        self.refused(r"a field of patient is 'name'; legal is patient_name, ", counts, patient={"name": "Doe"})
        self.refused(r"patient_name is 7; legal is a str", counts, patient={"patient_name": 7})
        integrals = np.ones(counts.shape, np.float32)
        integrals[17, 3, 9] = np.nan
        self.refused(r"frames\[17\]\[3, 9\] is nan; legal is a finite number", integrals)
        integrals[17, 3, 9] = -np.inf
        self.refused(r"frames\[17\]\[3, 9\] is -inf", integrals)
        self.assertEqual(count_jobs(self.daemon.grpc), 0)

    def test_frames_that_do_not_fit_are_refused_and_the_stream_goes_on(self):
        scan = self.scan()
        with self.client.stream(scan.acquisition()) as stream:
            for pattern, arguments in (
                (r"frame index is 100; legal is 0 to 99", (100, scan.frames[0])),
                (r"frame index is -1", (-1, scan.frames[0])),
                (r"frame index is 1.5; legal is a whole number", (1.5, scan.frames[0])),
                (r"frame 0 is \(119, 155\) of uint16; legal is \(120, 155\) of uint16", (0, scan.frames[0][:119])),
                (r"frame 0 is \(120, 155\) of float32", (0, scan.frames[0].astype(np.float32))),
                (r"pixels.strides", (0, np.asfortranarray(scan.frames[0]))),
                (r"matrices.shape is \(1, 2, 4\)", (0, scan.frames[0], np.ones((2, 4)))),
                (r"dose is 5000; legal is 0.001 to 1000", (0, scan.frames[0], None, 5000)),
                (r"phase of frame 0 is 1; legal is 0 to less than 1", (0, scan.frames[0], None, 0, 0.99999999)),
                (r"phase of frame 0 is nan", (0, scan.frames[0], None, 0, float("nan"))),
            ):
                self.assert_says(isocenter.InvalidArgument, pattern, stream.send, *arguments)
            stream.send_all(scan.frames)
            stream.finish()

    def test_what_the_service_refuses_is_said_in_its_words(self):
        scan = self.scan()
        self.assert_says(isocenter.NotFound, "no_such_protocol", self.client.stream, scan.acquisition(protocol="no_such_protocol"))
        huge = isocenter.Grid.cube(4096, 0.05)
        error = self.assert_says(isocenter.ResourceExhausted, r"needed|bytes", self.client.stream, scan.acquisition(grid=huge))
        self.assertEqual(error.code, "RESOURCE_EXHAUSTED")
        self.assertFalse(error.try_again)


def isocenter_header(**fields):
    from isocenter.v1 import acquisition_pb2  # pylint: disable=import-outside-toplevel

    return acquisition_pb2.AcquisitionHeader(**fields)


if __name__ == "__main__":
    main()
