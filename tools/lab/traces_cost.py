#!/usr/bin/env python3
"""What traces cost: the processor time of their thread beside that of the whole service, while jobs run one after the other.

Run it as ./dev bench traces [--jobs N] [--frames N]. Everything that traces do beyond noting when a state changed is done by that
thread. The collector takes what it is sent. Prints, asserts nothing.
"""

import argparse
import http.server
import os
import pathlib
import shutil
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import isocenter  # noqa: E402

FOLDER = pathlib.Path(".traces_cost").resolve()
THREAD = "iso-traces"


class Collector(http.server.BaseHTTPRequestHandler):
    """Counts the bytes of the requests that it is sent."""

    requests = size = 0

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Collector.requests += 1
        Collector.size += len(body)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def seconds_in(stat):
    """User and system time of a process or thread (proc(5))."""
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scheduled_seconds(task):
    """The time on a processor of one thread, in nanoseconds' steps, which jiffies are too coarse for."""
    return int((task / "schedstat").read_text().split()[0]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--frames", type=int, default=248)
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    bundle = FOLDER / "bundle"
    shape = ("--detector", "310x240", "--pitch-mm", 1.232)
    isocenter.must("simulate", "--phantom", "head", "--out", bundle, "--frames", options.frames, *shape, seconds=300)
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    service = isocenter.Service(FOLDER / "service", config=f'traces {{ endpoint: "{endpoint}" }}').start()
    try:
        process = pathlib.Path("/proc") / str(service.process.pid)
        (thread,) = [task for task in (process / "task").iterdir() if (task / "comm").read_text().strip() == THREAD]
        grid = ("--grid", "128x128x128", "--voxel-mm", 1.5)

        def scan():
            isocenter.json_of("stream", bundle, "--server", service.grpc, *grid, seconds=600)

        scan()  # what is done once is no job's
        time.sleep(1)
        before = seconds_in(process / "stat"), scheduled_seconds(thread)
        start = time.monotonic()
        for _ in range(options.jobs):
            scan()
        time.sleep(1)
        whole = seconds_in(process / "stat") - before[0]
        traces = scheduled_seconds(thread) - before[1]
        wall = time.monotonic() - start
    finally:
        service.stop()
        collector.shutdown()
    print(f"{options.jobs} jobs of {options.frames} frames of {shape[1]} to 128 x 128 x 128 voxels in {wall:.1f} s")
    print(f"service        {1e3 * whole / options.jobs:9.2f} ms of processor time for each job")
    print(f"of it, traces  {1e3 * traces / options.jobs:9.2f} ms, {100 * traces / whole:.3f} %")
    print(f"the collector got {Collector.requests} requests, {Collector.size / 1024:.0f} KiB")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
