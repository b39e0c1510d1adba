"""What else a service is asked from Python: jobs, refinements, protocols, calibrations, DICOM files; TLS and tokens."""

import hashlib
import subprocess
import sys
import time

from package import GRID, ROOT, STAGED, PackageTest, isocenter, main, np, support
from lab import process  # noqa: E402
from isocenter.v1 import protocols_pb2  # noqa: E402


class ServiceCallsTest(PackageTest):
    def submit(self, client):
        scan = self.scan()
        return client.submit(scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)

    def test_jobs_results_and_refinements(self):
        daemon = self.service()
        client = self.connect(daemon.grpc)
        self.assertTrue(client.status().ready)
        names = [protocol.name for protocol in client.protocols()]
        self.assertIn("fdk", names)
        job = self.submit(client)
        self.assertEqual(job.state, "completed")
        self.assertEqual(job.volume().array.tobytes(), self.fetch_voxels(daemon, job.job_id))
        files = job.save_dicom(self.folder / "dicom")
        self.assertEqual(len(files), support.INSTANCES)
        self.assertTrue(all(file.read_bytes()[128:132] == b"DICM" for file in files))
        with self.assertRaises(isocenter.AlreadyExists):  # nothing is written over
            job.save_dicom(self.folder / "dicom")
        refining = [protocol.name for protocol in client.protocols() if protocol.HasField("refinement")]
        # What it does is C++'s; that it is asked for the right thing is seen in the job.
        # So late that a busy machine does not end it before its first iteration.
        refined = job.refine(refining[0], deadline_s=500, request_id="once")
        self.assertEqual(job.refine(refining[0], deadline_s=500, request_id="once").job_id, refined.job_id)
        list(refined.previews())
        self.assertEqual(refined.wait(500).job_id, refined.job_id)
        self.assertEqual(refined.status().refines_job_id, job.job_id)
        self.assertNotEqual(refined.volume().array.tobytes(), job.volume().array.tobytes())
        self.assertEqual([found.job_id for found in client.jobs(states=("completed",), limit=1)], [refined.job_id])
        self.assertEqual(len(client.jobs()), 2)
        refined.delete()
        self.assertEqual([found.job_id for found in client.jobs()], [job.job_id])
        self.assert_says(isocenter.NotFound, refined.job_id, refined.volume)
        self.assert_says(isocenter.NotFound, "none", client.job("none").wait)
        self.assert_says(isocenter.InvalidArgument, "fdk", job.refine, "fdk")
        beside = protocols_pb2.SecondPass(self_calibrate=True, reference_job_id="none")
        self.assert_says(isocenter.NotFound, "reference_job_id: there is no job 'none'", job.refine, second_pass=beside)
        self.assert_says(isocenter.InvalidArgument, "job_class is 'live'; legal is interactive or batch", job.refine, "x", job_class="live")
        self.assert_says(isocenter.InvalidArgument, "a state is 'done'; legal is receiving, ", client.jobs, states=("done",))

    def test_the_first_scan_of_a_console_of_ones_own(self):
        """client/example/first_scan.py: the ball of water is where geometry.proto says, and as large."""
        daemon = self.service()
        run = subprocess.run(
            [sys.executable, "-B", ROOT / "client/example/first_scan.py", daemon.grpc], capture_output=True, text=True, env={"PYTHONPATH": str(STAGED)}
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        volume = self.connect(daemon.grpc).job(run.stdout.split()[1].rstrip(":")).volume()
        inside = np.argwhere(volume.array > -500)
        middle = volume.affine() @ [*inside.mean(axis=0)[::-1], 1]
        np.testing.assert_allclose(middle[:3], (40, 0, 10), atol=0.3)
        self.assertAlmostEqual(len(inside) * np.linalg.det(volume.affine()) / (4 / 3 * np.pi * 50**3), 1, delta=0.01)
        self.assertAlmostEqual(np.median(volume.array[volume.array > -500]), 0, delta=5)

    def test_waiting_for_a_job_ends_in_time(self):
        client = self.connect(self.service().grpc)
        scan = self.scan()
        with client.stream(scan.acquisition()) as stream:
            began = time.monotonic()
            self.assert_says(isocenter.DeadlineExceeded, "has not ended within 0.5 s", client.job(stream.job_id).wait, 0.5)
            self.assertLess(time.monotonic() - began, 60)

    def test_calibrations(self):
        client = self.connect(self.service().grpc)
        physics = self.folder / "room.textproto"
        physics.write_text("tube { kv: 90 } detector { signal_counts: 30000 photons: 30000 offset_counts: 100 }\n")
        detector = ("--detector", "64x48", "--pitch-mm", 2, "--frames", 20, "--physics", physics, "--station", "room3")
        for sweep in ("dark", "flat"):
            support.isocenter.must("simulate", "--sweep", sweep, "--out", self.folder / sweep, *detector)
        file = self.folder / "room3.isocal"
        support.isocenter.must(
            *("calibrate", "detector", "--dark", self.folder / "dark", "--flat", self.folder / "flat", "--station", "room3"),
            *("--mode", "bin2", "--kv", 90, "--valid-days", 30, "--out", file, "--name", "room3-a"),
        )
        kept = client.calibrations.add("room3-a", file)
        self.assertEqual((kept.label.name, kept.label.station_name), ("room3-a", "room3"))
        self.assertEqual(client.calibrations.add("room3-a", file), kept)
        self.assertEqual([found.label.name for found in client.calibrations.list(station_name="room3")], ["room3-a"])
        self.assertEqual(client.calibrations.list(station_name="room4"), [])
        client.calibrations.save("room3-a", self.folder / "copy")
        self.assertEqual((self.folder / "copy").read_bytes(), file.read_bytes())
        self.assert_says(isocenter.AlreadyExists, "overwrite=True", client.calibrations.save, "room3-a", self.folder / "copy")
        client.calibrations.save("room3-a", self.folder / "copy", overwrite=True)
        self.assertTrue(client.calibrations.withdraw("room3-a").HasField("withdraw_time"))
        self.assertEqual(client.calibrations.list(), [])
        self.assertEqual(len(client.calibrations.list(withdrawn=True)), 1)
        self.assert_says(isocenter.NotFound, "none", client.calibrations.save, "none", self.folder / "none")
        self.assertFalse((self.folder / "none").exists() or (self.folder / "none.partial").exists())
        damaged = self.folder / "damaged"
        damaged.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1]))
        self.assert_says(isocenter.DataLoss, "", client.calibrations.add, "room3-b", damaged)
        (self.folder / "short").write_bytes(b"short")
        self.assert_says(isocenter.InvalidArgument, "has 5 bytes; legal is 25 to", client.calibrations.add, "s", self.folder / "short")
        self.assert_says(isocenter.InvalidArgument, "limit is 0; legal is 1 to 1000", client.calibrations.list, limit=0)

    def ssl(self, *arguments):
        done = process.run([self.openssl, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_tls_and_tokens(self):
        self.openssl = support.need("openssl", "openssl")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        for name in ("ca", "stranger"):
            self.ssl("req", "-x509", *curve, "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        self.ssl("req", *curve, "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
        self.ssl(
            *("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"),
            *("-extfile", "names", "-out", "server.pem"),
        )
        lines = []
        for role in ("viewer", "console"):
            (self.folder / role).write_text(f"token-of-{role}-0123456789\n")
            digest = hashlib.sha256(f"token-of-{role}-0123456789".encode()).hexdigest()
            lines.append(f"{role} {digest} {role} one\n")
        tokens = self.folder / "tokens"
        tokens.write_text("".join(lines))
        tokens.chmod(0o600)
        daemon = self.service(
            tls={"certificate_file": self.folder / "server.pem", "private_key_file": self.folder / "server.key"},
            web=f'tokens_file: "{tokens}"',
        )
        authority = self.folder / "ca.pem"
        console = self.connect(daemon.grpc, ca_file=authority, token_file=self.folder / "console")
        job = self.submit(console)
        self.assertEqual(job.volume().array.shape, (64, 64, 64))
        viewer = self.connect(daemon.grpc, ca_file=authority, token_file=self.folder / "viewer")
        self.assertEqual(len(viewer.jobs()), 1)
        self.assert_says(isocenter.PermissionDenied, "console", self.submit, viewer)
        self.assert_says(isocenter.PermissionDenied, "console", viewer.job(job.job_id).volume)
        nobody = self.connect(daemon.grpc, ca_file=authority)
        self.assert_says(isocenter.Unauthenticated, "", nobody.jobs)
        wrong = self.connect(daemon.grpc, ca_file=self.folder / "stranger.pem", token_file=self.folder / "console")
        self.assert_says(isocenter.Unavailable, "cannot be reached", wrong.jobs)
        pair = {"certificate_file": self.folder / "server.pem", "private_key_file": self.folder / "ca.key"}
        self.assert_says(isocenter.InvalidArgument, "ca.key does not belong to", self.connect, daemon.grpc, ca_file=authority, **pair)
        self.assert_says(isocenter.Unavailable, "expects TLS|broke|cannot be reached", self.connect(daemon.grpc).jobs)


if __name__ == "__main__":
    main()
