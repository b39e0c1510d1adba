"""What a machine room does to the nodes of a cluster, drawn by a seed.

The rule: a fault begins only when all nodes serve, as the proxy sees them, and strikes one node. `two` strikes two at once and
leaves one. So there is always a node that serves.
"""

import dataclasses
import json
import random
import signal
import time

from lab import process

# Of a node that is drained: until its last scan has its volume, on a machine that is ten times slower for a while.
TO_DRAIN_S = 120
# The proxy looks every two seconds and believes the second look: what it has not seen by then it will not see.
TO_BE_SEEN_S = 4.5


@dataclasses.dataclass
class Fault:
    kind: str
    node: str
    began: float  # of time.monotonic()
    ended: float = float("inf")  # the node may serve again


class Faults:
    """`cluster`: a cluster.ClusterTest whose nodes run in `places`, {node: rooms.place.Place}."""

    def __init__(self, cluster, places, seed):
        self._cluster, self._places = cluster, places
        self._draws = random.Random(seed)
        self.told = []
        self.kinds = ["kill", "drain", "stop", "slow", "cut", "blink", "two"]
        if all(place.group for place in places.values()):
            self.kinds.append("throttle")

    def run(self, seconds):
        """Strikes until then, each kind once before one comes again."""
        end = time.monotonic() + seconds
        deck = []
        while time.monotonic() < end:
            time.sleep(self._draws.uniform(0, 2))
            deck = deck or self._draws.sample(self.kinds, len(self.kinds))
            self._strike(deck.pop())
            self.wait_until_all_serve()

    def wait_until_all_serve(self):
        """Each is seen by the proxy and answers through it."""
        time.sleep(TO_BE_SEEN_S)
        for name in self._cluster.names:
            self._cluster.wait_for_the_return_of(name)
            self._wait_for_an_answer(name)

    def _wait_for_an_answer(self, name):
        def has_answered():
            nonlocal last
            last = self._cluster.call("status", "--node", name)
            return last.returncode == 0

        last = None
        try:
            process.wait_until(has_answered, 60, f"an answer of {name}")
        except process.LabError as error:
            raise process.LabError(f"{error}: {last.stderr.strip()}") from None

    def _strike(self, kind):
        struck = self._draws.sample(self._cluster.names, 2 if kind == "two" else 1)
        kinds = [self._draws.choice(("kill", "stop", "cut")) for _ in struck] if kind == "two" else [kind]
        begun = []
        for name, one in zip(struck, kinds):
            fault = Fault(kind, name, time.monotonic())
            self.told.append(fault)
            begun.append((fault, *getattr(self, f"_{one}")(name)))
        for fault, _, _ in begun:
            print(f"{fault.kind} {fault.node} at {fault.began:.1f}", flush=True)
        for fault, lasts, end in begun:
            time.sleep(max(0, fault.began + lasts - time.monotonic()))
            end()
            fault.ended = time.monotonic()

    # Each begins a fault and returns for how long, and what ends it.

    def _kill(self, name):
        node = self._cluster.nodes[name]
        node.kill()
        return self._draws.uniform(0.2, 6), node.start

    def _drain(self, name):
        node, cluster = self._cluster.nodes[name], self._cluster

        def is_told():
            """As an operator, who tries again where a proxy had no room for the call."""
            return cluster.call("drain", "--node", name, "--reason", "upgrade").returncode == 0

        process.wait_until(is_told, 20, f"{name} told to drain")
        what = f"the last scan of {name}"

        def is_idle():
            status = cluster.call("status", "--node", name, "--json")
            return status.returncode == 0 and json.loads(status.stdout)["active_jobs"] == 0

        process.wait_until(is_idle, TO_DRAIN_S, what)
        node.process.signal(signal.SIGTERM)
        cluster.assertEqual(node.process.wait(90), 0)
        return self._draws.uniform(0, 3), lambda: self._return(name)

    def _return(self, name):
        """A drain outlasts the process: the operator ends it."""
        self._cluster.nodes[name].start()
        process.wait_until(lambda: self._cluster.call("resume", "--node", name).returncode == 0, 60, f"{name} told to resume")

    def _stop(self, name):
        child = self._cluster.nodes[name].process
        child.signal(signal.SIGSTOP)
        return self._draws.uniform(0.5, 8), lambda: child.signal(signal.SIGCONT)

    def _slow(self, name):
        """Stopped again and again: as slow as a machine that swaps."""
        child = self._cluster.nodes[name].process
        end = time.monotonic() + self._draws.uniform(4, 8)
        while time.monotonic() < end:
            child.signal(signal.SIGSTOP)
            time.sleep(self._draws.uniform(0.05, 0.9))
            child.signal(signal.SIGCONT)
            time.sleep(self._draws.uniform(0.05, 0.5))
        return 0, lambda: None

    def _throttle(self, name):
        group = self._places[name].group
        group.throttle(0.1)
        return self._draws.uniform(4, 8), lambda: group.throttle(1)

    def _cut(self, name):
        """Longer than a console waits."""
        place = self._places[name]
        place.cut()
        return self._draws.uniform(2, 9), place.heal

    def _blink(self, name):
        """Shorter than a console waits: nothing moves."""
        place = self._places[name]
        place.cut()
        return self._draws.uniform(0.1, 1.5), place.heal
