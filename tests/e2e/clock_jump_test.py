"""The clock of a node or of a console is set forward and back by an hour in the middle of scans: they finish, and nothing is given up or deleted.

They run with tests/fault/shifted_clock.c, which sets their clock and leaves the machine's alone.
"""

import os
import pathlib
import signal
import struct
import time

import support
from lab import isocenter, process

LIBRARY = pathlib.Path(os.environ.get("ISOCENTER_BIN", "build/release/bin")) / "libshifted_clock.so"
HOUR = 3600
FPS, FRAMES = 50, 100
# A scan of two seconds, on a machine that is ten times slower for a while; what waits for a clock to come back waits an hour.
TO_END_S = 120


class ClockJumpTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        if not LIBRARY.exists():
            self.skipTest(f"{LIBRARY} was not built")
        self.node = self.service(wrapper=self.own_clock("node"))

    def own_clock(self, who):
        """What a program is run by that has one."""
        self.set_clock(0, who)
        return ["env", f"LD_PRELOAD={LIBRARY}", f"ISOCENTER_CLOCK_SHIFT_FILE={self.folder / who}.clock"]

    def set_clock(self, seconds, who="node"):
        """So far from the machine's; in place, because the program has mapped the file."""
        path = self.folder / f"{who}.clock"
        with open(path, "r+b" if path.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds * 10**9))

    def console(self, name, *options, wrapper=()):
        argv = [*wrapper, isocenter.binary("isocenter"), "stream", self.bundle(), *support.GRID, "--fps", FPS, "--server", self.node.grpc]
        return self.background([*argv, "--json", self.folder / f"{name}.json", *options], name)

    def jobs(self):
        """Newest first."""
        return isocenter.json_of("jobs", "--server", self.node.grpc, "--limit", 1000)

    def wait_for_frames(self, least):
        def job():
            return next((job["job_id"] for job in self.jobs() if job["state"] == "receiving" and job["frames_received"] >= least), None)

        return process.wait_until(job, 60, f"a scan of which {least} frames are there")

    def end_of(self, console, name):
        self.assertEqual(console.wait(TO_END_S), 0, console.output() + self.node.process.output()[-2000:])
        return support.read_json(self.folder / f"{name}.json")["job_id"]

    def check(self, jobs):
        """All of them completed, with all frames and the same volume; and there is no other."""
        there = self.jobs()
        self.assertEqual(sorted(job["job_id"] for job in there), sorted(jobs))
        self.assertEqual({(job["state"], job["frames_received"]) for job in there}, {("completed", FRAMES)})
        self.assertEqual(len({self.fetch_voxels(self.node, job) for job in jobs}), 1)

    def test_scans_outlive_it(self):
        ended = [self.end_of(self.console("whole"), "whole")]
        for step, seconds in enumerate((HOUR, 0, -HOUR, 0)):
            name = f"scan-{step}"
            console = self.console(name)
            self.wait_for_frames(20)
            self.set_clock(seconds)
            began = time.monotonic()
            ended.append(self.end_of(console, name))
            print(f"clock set to {seconds:+} s: the result {time.monotonic() - began:.1f} s later", flush=True)
        self.check(ended)
        times = [job["create_time"] for job in self.jobs()]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_a_console_that_was_away_finds_its_job(self):
        ended = [self.end_of(self.console("whole"), "whole")]
        for seconds in (HOUR, 0):
            console = self.console(f"dies-{seconds}")
            job = self.wait_for_frames(20)
            console.signal(signal.SIGKILL)
            console.wait(60)
            time.sleep(1)  # the node has seen it
            self.set_clock(seconds)
            time.sleep(3)  # absl::Now sees it two seconds later
            ended.append(self.end_of(self.console(f"other-{seconds}"), f"other-{seconds}"))  # it looks for those who are overdue meanwhile
            again = self.console(f"again-{seconds}", "--resume", job)
            self.assertEqual(self.end_of(again, f"again-{seconds}"), job)
            ended.append(job)
        self.check(ended)

    def test_a_console_whose_clock_is_set_finds_its_node_again(self):
        ended = [self.end_of(self.console("whole"), "whole")]
        for seconds in (HOUR, -HOUR):
            name = f"console{seconds:+}"
            console = self.console(name, wrapper=self.own_clock(name))
            job = self.wait_for_frames(20)
            self.node.kill()
            time.sleep(1)  # it has seen it, and tries again
            self.set_clock(seconds, name)
            time.sleep(3)  # absl::Now sees it two seconds later
            self.node.start()
            self.assertEqual(self.end_of(console, name), job)
            ended.append(job)
        self.check(ended)

    def test_it_restarts_with_another_clock(self):
        ended = [self.end_of(self.console("whole"), "whole")]
        console = self.console("restart")
        job = self.wait_for_frames(20)
        self.node.kill()
        self.set_clock(-HOUR)  # before its jobs were made
        self.node.start()
        self.assertEqual(self.end_of(console, "restart"), job)
        self.check([*ended, job])


if __name__ == "__main__":
    support.main()
