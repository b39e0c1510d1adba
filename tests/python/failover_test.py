"""An acquisition whose node dies, at every moment of it: the other one gets all of it, under the same id."""

import pathlib
import tempfile
import threading
import time

from package import GRID, PackageTest, isocenter, main, np
import cluster
from two_nodes import TwoNodes

FRAMES = 20


class FailoverTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.service_of_two = TwoNodes()
        self.addCleanup(self.service_of_two.stop)
        self.a, self.b = (self.service_of_two.nodes[name] for name in "ab")
        self.moves = []

    def begin(self, **options):
        acquisition = isocenter.Acquisition(FRAMES, 2, 4, 1.0, None, "uint16", i0_counts=60000)
        options = {"failover_after_s": 0.3, "on_moved": self.moves.append, **options}
        stream = self.connect(self.service_of_two.address).stream(acquisition, **options)
        self.addCleanup(stream.close)
        return stream

    @staticmethod
    def send_all(stream, frames=range(FRAMES)):
        for index in frames:
            stream.send(index, np.full((2, 4), index, np.uint16))
        return stream.finish()

    def come_back(self, node, after_s=0.0):
        """Once it has gone, from another thread."""

        def wait():
            while not node.away:
                time.sleep(0.005)
            time.sleep(after_s)
            node.come_back()

        thread = threading.Thread(target=wait)
        thread.start()
        self.addCleanup(thread.join)

    def assert_moved(self, stream, result):
        self.assertEqual(result.job_id, "job-of-a")
        self.assertEqual(stream.node, "b")
        self.assertEqual(self.moves, ["b"])
        self.assertEqual(self.b.held["job-of-a"], set(range(FRAMES)))
        self.assertEqual(stream.acknowledged_frames, FRAMES)

    def test_every_node_is_told_the_trace(self):
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        self.a.dies_at_frame = 11
        stream = self.begin(trace_parent=trace)
        self.assert_moved(stream, self.send_all(stream))
        self.assertEqual(set(self.a.trace_parents + self.b.trace_parents), {trace})
        self.assertTrue(self.b.trace_parents)
        for wrong in (trace[:-1], trace.upper(), trace + "0", 7, None):
            with self.assertRaisesRegex(isocenter.InvalidArgument, "trace_parent is .*; legal is VERSION"):
                self.begin(trace_parent=wrong)

    def test_at_every_moment(self):
        for name, value in (
            *(("dies_at_frame", index) for index in (0, 11, FRAMES - 1)),
            *(("dies_after_finish", True), ("falls_silent_at_frame", 9)),
        ):
            with self.subTest(name, value=value):
                self.setUp()
                setattr(self.a, name, value)
                stream = self.begin()
                self.assertEqual(stream.accepted.node, "a")
                began = time.monotonic()
                self.assert_moved(stream, self.send_all(stream))
                self.assertLess(time.monotonic() - began, 30)

    def test_a_node_that_comes_back_in_time_keeps_the_scan(self):
        self.a.dies_at_frame = 5
        stream = self.begin(failover_after_s=20)
        self.come_back(self.a)
        self.send_all(stream)
        self.assertEqual((stream.node, self.moves), ("a", []))
        self.assertFalse(self.b.held)

    def test_a_busy_node_that_answers_is_not_left(self):
        stream = self.begin()
        stream.send(0, np.zeros((2, 4), np.uint16))
        time.sleep(1)  # the console has nothing to send: three times failover_after_s
        self.send_all(stream, range(1, FRAMES))
        self.assertEqual((stream.node, stream.reconnects), ("a", 0))

    def test_a_node_that_does_not_take_it_is_no_end_and_the_first_is_found_again(self):
        self.a.dies_at_frame = 5
        self.b.refuses = True
        stream = self.begin()
        self.come_back(self.a, after_s=2)
        self.send_all(stream)
        self.assertEqual(stream.node, "a")
        self.assertEqual(self.a.held["job-of-a"], set(range(FRAMES)))

    def test_a_node_that_comes_back_without_its_disk_is_left(self):
        self.a.dies_at_frame = 5
        stream = self.begin()
        while_away = threading.Thread(target=self._lose_the_disk)
        while_away.start()
        self.addCleanup(while_away.join)
        self.assert_moved(stream, self.send_all(stream))

    def _lose_the_disk(self):
        while not self.a.away:
            time.sleep(0.005)
        self.a.held.clear()
        self.a.come_back()

    def test_the_others_are_known_also_when_the_first_question_fails(self):
        self.service_of_two.lists_refused = 1
        self.a.dies_at_frame = 11
        stream = self.begin()
        self.assert_moved(stream, self.send_all(stream))

    def test_a_node_that_hangs_when_it_is_asked_holds_nothing_up(self):
        self.b.hangs_when_asked = True
        began = time.monotonic()
        stream = self.begin()
        self.assertLess(time.monotonic() - began, 3)  # 30 are allowed for an admission
        self.send_all(stream)

    def test_a_node_that_hangs_when_it_is_to_begin_is_passed_by(self):
        self.a.hangs_when_begun = True
        began = time.monotonic()
        stream = self.begin()
        self.assertLess(time.monotonic() - began, 12)
        self.assertEqual(stream.node, "b")
        self.send_all(stream)
        self.assertEqual(self.b.held["job-of-b"], set(range(FRAMES)))

    def test_a_node_that_hangs_when_it_is_to_go_on_is_passed_by_and_told_so(self):
        self.a.dies_at_frame, self.b.hangs_when_begun = 5, True
        stream = self.begin()
        self.come_back(self.a, after_s=1)
        began = time.monotonic()
        self.send_all(stream)
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(stream.node, "a")
        # It may have taken the job when nobody waited for that any more.
        self.assertEqual((self.a.cancelled, self.b.cancelled), (set(), {"job-of-a"}))

    def test_both_die_one_after_the_other(self):
        self.a.dies_at_frame, self.b.dies_at_frame = 12, 7
        stream = self.begin()
        self.come_back(self.a, after_s=1)
        self.come_back(self.b, after_s=2)
        self.assertEqual(self.send_all(stream).job_id, "job-of-a")
        self.assertEqual(self.service_of_two.nodes[stream.node].held["job-of-a"], set(range(FRAMES)))

    def test_the_node_that_was_left_need_not_wait(self):
        self.a.falls_silent_at_frame = 9
        stream = self.begin()
        for index in range(10):
            stream.send(index, np.zeros((2, 4), np.uint16))
        while not self.moves:
            time.sleep(0.005)
        self.a.come_back()
        self.send_all(stream, range(10, FRAMES))
        self.assertEqual(self.a.cancelled, {"job-of-a"})
        self.assertEqual(self.b.cancelled, set())

    def test_frames_beyond_the_memory_are_kept_in_a_file_without_a_name(self):
        self.a.dies_after_finish = True
        with tempfile.TemporaryDirectory() as folder:
            stream = self.begin(max_kept_bytes=200, kept_frames_folder=pathlib.Path(folder))
            self.assert_moved(stream, self.send_all(stream))
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_frames_that_cannot_be_kept_stay_with_their_node(self):
        self.a.dies_at_frame = FRAMES - 1
        stream = self.begin(max_kept_bytes=200, reconnect_timeout_s=2)
        error = self.assert_says(
            *(isocenter.Unavailable, "cannot go to another node: the frames take more than 200 bytes of memory, and no folder is set"),
            *(self.send_all, stream),
        )
        self.assertRegex(str(error), "no new connection within 2 s")
        self.assertFalse(self.b.held)

    def test_without_failover_the_scan_stays(self):
        self.a.dies_at_frame = 5
        stream = self.begin(failover_after_s=0, reconnect_timeout_s=1)
        self.assert_says(isocenter.Unavailable, "no new connection within 1 s", self.send_all, stream)
        self.assertFalse(self.b.held)


class RealNodesTest(PackageTest, cluster.ClusterTest):
    """isocenterd behind HAProxy, as it is delivered."""

    def test_a_node_that_is_killed_in_the_scan_and_after_it(self):
        self.start()
        scan = self.scan()
        keys = {"ca_file": "ca.pem", "certificate_file": "console.pem", "private_key_file": "console.key"}
        client = self.connect(self.address, **{name: self.path(file) for name, file in keys.items()})
        whole = client.reconstruct(scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID)
        for dies_at in (1, 60, len(scan.frames) - 1):
            with self.subTest(dies_at=dies_at), client.stream(scan.acquisition()) as stream:
                first = stream.node
                for index, frame in enumerate(scan.frames):
                    stream.send(index, frame)
                    time.sleep(0.01)
                    if index == dies_at:
                        self.nodes[first].kill()
                result = stream.finish()
                self.assertEqual(result.job_id, stream.job_id)
                self.assertNotEqual(stream.node, first)
                volume = self.volume(result.job_id, stream.node)
                self.assertEqual(volume[-whole.array.nbytes :], whole.array.tobytes())
                self.nodes[first].start()
                self.wait_for_the_return_of(first)


if __name__ == "__main__":
    main()
