"""client/example/own_console.py, the console of docs/user-guide/own-console.md, before two nodes that die at any moment of a scan."""

import array
import subprocess
import sys
import threading
import time
from unittest import mock

from package import ROOT, PackageTest, acquisition_pb2, main
from two_nodes import TwoNodes

sys.path.insert(0, str(ROOT / "client/example"))
import grpc  # noqa: E402
import first_scan  # noqa: E402
import own_console  # noqa: E402

FRAMES = 20


class OwnConsoleTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.nodes = TwoNodes()
        self.addCleanup(self.nodes.stop)
        self.a, self.b = (self.nodes.nodes[name] for name in "ab")
        self.enterContext(mock.patch.object(own_console, "AWAY_S", 0.4))

    def scan(self):
        """Runs one; the scan and its result."""
        header = acquisition_pb2.AcquisitionHeader(frame_count=FRAMES)
        scan = own_console.Scan(lambda: grpc.insecure_channel(self.nodes.address), header)

        def expose():
            for index in range(FRAMES):
                scan.add(acquisition_pb2.Frame(index=index, pixels=bytes([index] * 16)))
                time.sleep(0.01)

        arm = threading.Thread(target=expose)
        arm.start()
        self.addCleanup(arm.join)
        return scan, scan.run()

    def test_a_scan_that_nothing_befalls(self):
        scan, result = self.scan()
        self.assertEqual((result.job_id, scan.node, scan.left), ("job-of-a", "a", set()))
        self.assertEqual(self.a.held["job-of-a"], set(range(FRAMES)))
        self.assertFalse(self.b.held)

    def test_at_every_moment_the_other_node_gets_all_of_it(self):
        for name, value in (
            *(("dies_at_frame", index) for index in (0, 11, FRAMES - 1)),
            *(("dies_after_finish", True), ("falls_silent_at_frame", 9)),
        ):
            with self.subTest(name, value=value):
                self.setUp()
                setattr(self.a, name, value)
                scan, result = self.scan()
                self.assertEqual((result.job_id, scan.node, scan.left), ("job-of-a", "b", {"a"}))
                self.assertEqual(self.b.held["job-of-a"], set(range(FRAMES)))

    def test_the_first_scan_shows_a_ball_of_water(self):
        self.assertEqual(first_scan.crc32c(b"123456789"), 0xE3069283)
        thickest = array.array("f", first_scan.ball(25))
        self.assertEqual(len(thickest), first_scan.ROWS * first_scan.COLUMNS)
        self.assertAlmostEqual(max(thickest), 2 * first_scan.RADIUS_MM * first_scan.WATER_PER_MM, delta=0.01)
        with mock.patch.object(first_scan, "FRAMES", FRAMES), mock.patch("builtins.print") as told:
            first_scan.main(self.nodes.address)
        self.assertEqual(self.a.held["job-of-a"], set(range(FRAMES)))
        self.assertIn("job job-of-a", told.call_args_list[0].args[0])

    def test_the_first_scan_says_how_it_is_called(self):
        run = subprocess.run([sys.executable, "-B", ROOT / "client/example/first_scan.py"], capture_output=True, text=True, env={"PYTHONPATH": sys.path[1]})
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("usage: first_scan.py HOST:PORT", run.stderr)

    def test_a_node_that_is_full_is_passed_over(self):
        self.a.refuses = True
        scan, result = self.scan()
        self.assertEqual((result.job_id, scan.node), ("job-of-b", "b"))

    def test_a_refusal_that_says_later_is_repeated(self):
        self.a.refuses = self.b.refuses = True
        self.a.later = self.b.later = (("isocenter-try-again", "later"), ("isocenter-retry-after-ms", "300"))

        def free():
            self.a.refuses = self.b.refuses = False

        begun = time.monotonic()
        threading.Timer(0.5, free).start()
        scan, result = self.scan()
        self.assertEqual((result.job_id, scan.left), (f"job-of-{scan.node}", set()))
        self.assertGreaterEqual(time.monotonic() - begun, 0.6)

    def test_a_refusal_that_lasts_is_told_in_the_end(self):
        self.enterContext(mock.patch.object(own_console, "GIVE_UP_S", 0.5))
        self.a.refuses = self.b.refuses = True
        self.a.later = self.b.later = (("isocenter-try-again", "later"), ("isocenter-retry-after-ms", "200"))
        with self.assertRaises(grpc.RpcError) as refused:
            self.scan()
        self.assertEqual(refused.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)

    def test_a_refusal_everywhere_is_told(self):
        self.a.refuses = self.b.refuses = True
        with self.assertRaises(grpc.RpcError) as refused:
            self.scan()
        self.assertEqual(refused.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)


if __name__ == "__main__":
    main()
