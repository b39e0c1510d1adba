"""What the nodes of a cluster take of their machine while a campaign goes on: memory, descriptors, spool."""

import os
import pathlib
import re
import statistics
import threading
import time

PERIOD_S = 1
MIB = 1 << 20
# How much more the last third of a campaign may take than the first, by their medians: a share, and so much beside it. What a
# node has at a moment depends on how many scans the others could not take.
FLAT = {"resident": (0.25, 64 * MIB), "descriptors": (0.25, 32), "spool": (0.5, 64 * MIB)}


def resident(pid):
    return int(re.search(r"^VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def bytes_below(folder):
    """On the disk; files that vanish meanwhile do not count."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


class Samples:
    """Of `nodes`, {name: lab.isocenter.Service}, from `begin` until `end`."""

    def __init__(self, nodes):
        self._nodes = nodes
        self._taken = []  # (time, node, what, value)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def begin(self):
        self._thread.start()

    def end(self):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(PERIOD_S):
            for name, node in self._nodes.items():
                now = time.monotonic()
                try:
                    # The memory first: what has died and is not yet buried has none.
                    values = {"resident": resident(node.process.pid), "descriptors": descriptors(node.process.pid)}
                    self._taken.extend((now, name, what, value) for what, value in values.items())
                except (OSError, TypeError):
                    pass  # it is dead
                self._taken.append((now, name, "spool", bytes_below(node.folder / "archive" / "spool")))

    def thirds(self, what, name):
        """The median of the first third of the time and of the last; None for a node without a sample."""
        times = [now for now, *_ in self._taken]
        begin, third = min(times), (max(times) - min(times)) / 3
        of_node = [(now, value) for now, node, kind, value in self._taken if (node, kind) == (name, what)]
        first = [value for now, value in of_node if now <= begin + third]
        last = [value for now, value in of_node if now >= begin + 2 * third]
        return statistics.median(first) if first else None, statistics.median(last) if last else None

    def grown(self):
        """Sentences on what was not flat; prints all. A node is held against the one that had most at first: which of them has how
        many scans at a moment is chance, and they are the same program."""
        found = []
        for what, (share, beside) in FLAT.items():
            unit, scale = ("", 1) if what == "descriptors" else (" MiB", MIB)
            thirds = {name: self.thirds(what, name) for name in self._nodes}
            most = max(first for first, _ in thirds.values() if first is not None)
            for name, (first, last) in thirds.items():
                if last is None:
                    found.append(f"{name} has no sample of {what} in the last third")
                    continue
                at_first = "dead" if first is None else f"{first / scale:.0f}{unit}"
                text = f"{name} {what}: {at_first} in the first third, {last / scale:.0f}{unit} in the last"
                print(text, flush=True)
                if last > most * (1 + share) + beside:
                    found.append(text)
        return found
