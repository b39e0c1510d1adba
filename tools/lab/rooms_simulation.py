#!/usr/bin/env python3
"""How long rooms wait for their volumes when several share nodes: a simulation fed by measured service times.

rooms_simulation.py [--rooms N] [--hours H] [--seed S]: the tables of docs/scale.md, in Markdown.

Rooms scan at random, independently. A scan streams at the pace of its arm to one node; scans on one node share what it can
take from the network, and have its device before refinements, which follow one another. Between two events all rates are
constant, so that every time is exact.
"""

import argparse
import dataclasses
import heapq
import random


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of node with its protocol. The figures are those of docs/performance.md."""

    name: str
    scan_seconds: float  # from the first frame to the last, at the arm's pace
    scan_megabytes: float
    take_megabytes_per_second: float  # that one node takes from all streams together
    device_seconds: float  # of the first volume, on the node's device
    after_seconds: float  # from the last frame to the volume, alone on the node
    refine_seconds: float  # 0: none


KINDS = (
    # 496 frames of 1248x960 at 60/s into 512^3: 0.09 s at 715 GUPS and 0.3 s for chunks, 19 ms after the last frame; 10 passes
    # of OS-SART as a whole (on an H100, which does them as fast or slower). 700 MB/s: the median with 2 cores.
    Kind("H200, 512³", 496 / 60, 1188, 700, 0.39, 0.019, 6.1),
    # 248 frames of 620x480 at 30/s into 256³ on 2 cores: 2.0 s at full speed.
    Kind("CPU with 2 cores, 256³", 248 / 30, 148, 511, 2.0, 0.07, 0),
)


@dataclasses.dataclass
class Scan:
    begin: float
    left_megabytes: float
    left_device: float
    end_of_exposure: float


class Node:
    """What one node does between events: rates are constant until `next_change`."""

    def __init__(self, kind):
        self.kind = kind
        self.now = 0.0
        self.scans = []
        self.refinements = []  # [time of the volume, seconds left]
        self.delays = []  # of volumes, beyond the exposure
        self.waits = []  # of refinements, beyond their own time
        self.busy = 0.0  # seconds of the device

    def _rates(self):
        """Per scan: megabytes and device seconds in a second; and what is left of the device for refinements."""
        kind = self.kind
        if not self.scans:
            return [], 1.0
        pace = kind.scan_megabytes / kind.scan_seconds
        share = kind.take_megabytes_per_second / len(self.scans)
        wanted, rates = 0.0, []
        for scan in self.scans:
            megabytes = min(pace, share) if scan.left_megabytes > 0 else 0.0
            # A device can only follow what has come.
            device = megabytes / kind.scan_megabytes * kind.device_seconds if megabytes else 1.0
            rates.append([megabytes, device])
            wanted += device
        if wanted > 1:
            for rate in rates:
                rate[1] /= wanted
        return rates, max(0.0, 1.0 - wanted)

    def backlog(self):
        """Seconds until a new scan's volume, beyond its exposure, as far as the node knows: what admission predicts."""
        streams = (len(self.scans) + 1) * self.kind.scan_megabytes / self.kind.scan_seconds
        slower = max(1.0, streams / self.kind.take_megabytes_per_second)
        return (slower - 1) * self.kind.scan_seconds + sum(s.left_device for s in self.scans)

    def next_change(self):
        rates, rest = self._rates()
        steps = []
        for scan, (megabytes, device) in zip(self.scans, rates):
            if scan.left_megabytes > 0:
                steps.append(scan.left_megabytes / megabytes)
            elif device > 0:
                steps.append(max(0.0, scan.left_device) / device)
        if self.refinements and rest > 0:
            steps.append(self.refinements[0][1] / rest)
        return self.now + min(steps) if steps else float("inf")

    def advance(self, time):
        step = time - self.now
        rates, rest = self._rates()
        for scan, (megabytes, device) in zip(self.scans, rates):
            scan.left_megabytes -= megabytes * step
            scan.left_device -= device * step
            self.busy += device * step
            if scan.left_megabytes < 1e-6:
                scan.left_megabytes = 0.0
        if self.refinements:
            self.refinements[0][1] -= rest * step
            self.busy += rest * step
        self.now = time
        for scan in [s for s in self.scans if s.left_megabytes == 0 and s.left_device < 1e-6]:
            self.scans.remove(scan)
            self.delays.append(time - scan.end_of_exposure + self.kind.after_seconds)
            if self.kind.refine_seconds:
                self.refinements.append([time, self.kind.refine_seconds])
        if self.refinements and self.refinements[0][1] < 1e-6:
            begin, _ = self.refinements.pop(0)
            self.waits.append(max(0.0, time - begin - self.kind.refine_seconds))

    def take(self):
        kind = self.kind
        self.scans.append(Scan(self.now, kind.scan_megabytes, kind.device_seconds, self.now + kind.scan_seconds))


def best(nodes, _):
    return min(nodes, key=lambda node: node.backlog())


def anyone(nodes, draw):
    return draw.choice(nodes)


def simulate(kind, rooms, nodes, scans_per_hour, hours, seed, choose=best):
    """The nodes after so many hours."""
    draw = random.Random(seed)
    choice = random.Random(-seed - 1)  # of its own, so that the scans are the same whatever chooses
    servers = [Node(kind) for _ in range(nodes)]
    # A room scans again after it has finished and some time has passed.
    mean_pause = 3600 / scans_per_hour - kind.scan_seconds
    arrivals = [(draw.expovariate(1 / mean_pause), room) for room in range(rooms)]
    heapq.heapify(arrivals)
    while arrivals[0][0] < hours * 3600:
        time, room = arrivals[0]
        change = min(server.next_change() for server in servers)
        now = min(time, change)
        for server in servers:
            server.advance(now)
        if now == time:
            choose(servers, choice).take()
            again = time + kind.scan_seconds + draw.expovariate(1 / mean_pause)
            heapq.heapreplace(arrivals, (again, room))
    return servers


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else 0.0


def seconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def row(kind, rooms, nodes, rate, hours, seed, choose):
    servers = simulate(kind, rooms, nodes, rate, hours, seed, choose)
    delays = [d for s in servers for d in s.delays]
    waits = [w for s in servers for w in s.waits]
    open_refinements = sum(len(s.refinements) for s in servers)
    busy = max(s.busy for s in servers) / (hours * 3600)
    late = sum(d > 1 for d in delays) / max(1, len(delays))
    cells = [f"{rate:g}", nodes, len(delays), *(seconds(quantile(delays, q)) for q in (0.5, 0.99, 1))]
    cells += [f"{100 * late:.1f} %", *(seconds(quantile(waits, q)) for q in (0.5, 0.99)), open_refinements]
    return [*map(str, cells), f"{100 * busy:.0f} %"]


def table(kind, choose, options):
    print("| scans per room and hour | nodes | scans | after the last frame, s: median | 99 % | largest | later than 1 s "
          "| refinement waits, s: median | 99 % | left at the end | busiest device |")
    print("|" + "---|" * 11)
    for rate in options.rates:
        for nodes in options.nodes:
            print("| " + " | ".join(row(kind, options.rooms, nodes, rate, options.hours, options.seed, choose)) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--hours", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rates", type=float, nargs="+", default=[2, 6, 12], help="scans per room and hour")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3, 4])
    options = parser.parse_args()
    for kind in KINDS:
        print(f"{kind.name}, {options.rooms} rooms, {options.hours:g} hours, the node that predicts the earliest finish\n")
        table(kind, best, options)
        print(f"{kind.name}, any node\n")
        table(kind, anyone, options)


if __name__ == "__main__":
    main()
