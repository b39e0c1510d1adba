"""What networks and servers do to a scan from Python: connections cut at any byte, a server that is killed. Same volume, one job."""

import os
import random
import socket
import threading
import time

from package import GRID, PackageTest, count_jobs, isocenter, main, support

ROUNDS = 6
MOST_CUTS = 3  # of a round
OPENING_BYTES = 4000  # less than a header with matrices, more than what is asked before it


class Proxy:
    """Forwards connections to a port of this machine, each of which it may cut after so many bytes towards the server."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets, self._lock = [], threading.Lock()
        self.cuts = []  # bytes after which the next connections are cut; then none is
        self.deaf = False  # the next connection: what answers more than so many bytes of a console is lost, and it is cut
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        self.cut()

    def cut(self):
        """All connections, now."""
        with self._lock:
            for end in self._sockets:
                self._end(end)
            self._sockets.clear()

    @staticmethod
    def _end(end):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            with self._lock:
                self._sockets += [near, far]
            left = self.cuts.pop(0) if self.cuts else None
            heard = threading.Event() if self.deaf else None  # that the console has said more than it says before an opening
            self.deaf = False
            threading.Thread(target=self._forward, args=(near, far, left, heard), daemon=True).start()
            threading.Thread(target=self._forward, args=(far, near, None, None, heard), daemon=True).start()

    def _forward(self, source, sink, left, says=None, lost=None):
        sent = 0
        try:
            while data := source.recv(65536 if left is None else min(65536, left)):
                if lost is None or not lost.is_set():
                    sink.sendall(data)
                sent += len(data)
                if says is not None and sent > OPENING_BYTES and not says.is_set():
                    says.set()
                    threading.Timer(0.5, self.cut).start()
                if left is not None and (left := left - len(data)) <= 0:
                    break
        except OSError:
            pass
        self._end(source)
        self._end(sink)


class CutConnectionTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.service()
        self.proxy = Proxy(int(self.daemon.grpc.rpartition(":")[2]))
        self.addCleanup(self.proxy.close)
        direct = self.connect(self.daemon.grpc)
        scan = self.scan()
        self.expected = direct.reconstruct(
            scan.frames, scan.matrices, scan.pitch_mm, i0_counts=scan.i0_counts, grid=GRID
        ).array.tobytes()
        self.direct = direct

    def send(self, client, acquisition, **options):
        """A whole scan; (its job, reconnects, errors of breaks)."""
        scan, breaks = self.scan(), []
        with client.stream(acquisition, on_interrupted=breaks.append, **options) as stream:
            for index, frame in enumerate(scan.frames):
                stream.send(index, frame)
            result = stream.finish()
            return result.job_id, stream.reconnects, breaks

    def test_connections_that_are_cut_at_any_byte(self):
        seed = int(os.environ.get("ISOCENTER_FAULT_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 31)
        print(f"ISOCENTER_FAULT_SEED={seed}", flush=True)
        draws, scan = random.Random(seed), self.scan()
        whole = scan.frames.nbytes
        for round_number in range(ROUNDS):
            # Together less than the scan: a server that has received all of it leaves nothing to send, and so to cut.
            cuts = [draws.randrange(50_000, whole // (MOST_CUTS + 1)) for _ in range(draws.randrange(1, MOST_CUTS + 1))]
            self.proxy.cuts = list(cuts)
            client = self.connect(self.proxy.address)
            with self.subTest(cuts=cuts):
                job, reconnects, breaks = self.send(client, scan.acquisition())
                self.assertEqual(len(breaks), len(cuts))
                self.assertGreaterEqual(reconnects, 1)
                self.assertTrue(all(isinstance(error, isocenter.Unavailable) for error in breaks), breaks)
                self.assertEqual(self.direct.job(job).volume().array.tobytes(), self.expected)
                self.assertEqual(count_jobs(self.daemon.grpc), 2 + round_number)

    def test_connections_that_are_cut_before_the_answer(self):
        """The opening is repeated, and does not become a second job."""
        self.proxy.cuts = [400, 700, 3000]
        client = self.connect(self.proxy.address)
        job, _, breaks = self.send(client, self.scan().acquisition())
        self.assertGreaterEqual(len(breaks), 1)
        self.assertEqual(self.direct.job(job).volume().array.tobytes(), self.expected)
        self.assertEqual(count_jobs(self.daemon.grpc), 2)

    def test_an_opening_whose_answer_is_lost(self):
        """The server has begun a job by then: the opening is repeated, and finds it."""
        self.proxy.deaf = True
        client = self.connect(self.proxy.address)
        job, _, breaks = self.send(client, self.scan().acquisition())
        self.assertEqual(len(breaks), 1)
        self.assertEqual(self.direct.job(job).volume().array.tobytes(), self.expected)
        self.assertEqual(count_jobs(self.daemon.grpc), 2)

    def test_outages_that_are_short_add_up_to_none(self):
        """Cut again and again in a scan that takes longer than an outage may: each break begins anew."""
        scan, breaks, outage_s = self.scan(), [], 6
        client, began = self.connect(self.proxy.address), time.monotonic()
        with client.stream(scan.acquisition(), on_interrupted=breaks.append, reconnect_timeout_s=outage_s) as stream:
            for index, frame in enumerate(scan.frames):
                stream.send(index, frame)
                time.sleep(0.1)
                if index % 10 == 9:
                    # Once the frames have arrived: what counts as an outage is one in which nothing does, on a slow machine, too.
                    support.process.wait_until(lambda: stream.acknowledged_frames == index + 1, 60, "the acknowledgement")
                    self.proxy.cut()
            job, reconnects = stream.finish().job_id, stream.reconnects
        self.assertGreater(time.monotonic() - began, outage_s)
        self.assertGreaterEqual(reconnects, 5)
        self.assertEqual(len(breaks), reconnects)
        self.assertEqual(self.direct.job(job).volume().array.tobytes(), self.expected)

    def test_a_server_that_is_killed_in_the_scan(self):
        scan, client, done = self.scan(), self.connect(self.daemon.grpc), {}
        in_the_scan, started_again = threading.Event(), threading.Event()

        def send():
            with client.stream(scan.acquisition()) as stream:
                for index, frame in enumerate(scan.frames):
                    if index == 40:
                        in_the_scan.set()
                    if index == 80:
                        started_again.wait(60)
                    stream.send(index, frame)
                done.update(job=stream.finish().job_id, reconnects=stream.reconnects)

        thread = threading.Thread(target=send)
        thread.start()
        in_the_scan.wait(60)
        self.daemon.kill()  # while the next frames are sent
        self.daemon.start()
        started_again.set()
        thread.join(120)
        self.assertGreaterEqual(done["reconnects"], 1)
        self.assertEqual(self.connect(self.daemon.grpc).job(done["job"]).volume().array.tobytes(), self.expected)

    def test_without_reconnection_a_cut_ends_the_scan(self):
        self.proxy.cuts = [500_000]
        client = self.connect(self.proxy.address)
        self.assert_says(
            isocenter.Unavailable, "the connection to the server broke", self.send, client, self.scan().acquisition(), reconnect_timeout_s=0
        )

    def test_a_server_that_does_not_come_back(self):
        client = self.connect(self.daemon.grpc)
        with client.stream(self.scan().acquisition(), reconnect_timeout_s=2) as stream:
            stream.send(0, self.scan().frames[0])
            self.daemon.kill()
            began = time.monotonic()
            self.assert_says(isocenter.Unavailable, "no new connection within 2 s: .*", stream.finish)
            self.assertLess(time.monotonic() - began, 30)

    def test_nobody_listens(self):
        client = self.connect(f"127.0.0.1:{support.process.free_port()}")
        began = time.monotonic()
        error = self.assert_says(
            isocenter.Unavailable, "cannot be reached: .*nothing listens at .*check that isocenterd runs", client.stream, self.scan().acquisition()
        )
        self.assertIsInstance(error, ConnectionError)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_server_that_never_answers(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        client = self.connect(f"127.0.0.1:{silent.getsockname()[1]}")
        self.assert_says(
            (isocenter.DeadlineExceeded, isocenter.Unavailable), "", client.stream, self.scan().acquisition(), admission_timeout_s=1
        )


if __name__ == "__main__":
    main()
