"""Where a node of a campaign runs: in a network and a control group of its own, each where the system allows it."""

import pathlib
import signal
import sys

from lab import confinement, process

RELAY = pathlib.Path(process.__file__).with_name("relay.py")


class Place:
    """`lacks`: what the system did not allow, as sentences."""

    def __init__(self, folder, name, number, memory_bytes, cores):
        self.lacks = []
        self._folder = pathlib.Path(folder)
        self._name = name
        self._network = self._try("network", lambda: confinement.Network(folder, number))
        self.group = self._try("control group", lambda: confinement.ControlGroup(name, memory_bytes, cores))
        self._relay = None
        if self._network is None:
            self.lacks.append(f"{name} is cut off by a relay before it, not by its network")

    def _try(self, what, make):
        try:
            return make()
        except (confinement.Unavailable, process.LabError, OSError) as reason:
            self.lacks.append(f"{self._name} has no {what} of its own: {reason}")
            return None

    def options(self):
        """Of lab.isocenter.Service."""
        wrapper = [word for part in (self.group, self._network) if part for word in part.wrapper]
        return {"wrapper": wrapper, **({"host": self._network.host} if self._network else {})}

    def way_to(self, address):
        """The address that leads to the node's own one and may be cut."""
        if self._network:
            return address
        listen = f"127.0.0.1:{process.free_port()}"
        argv = [sys.executable, "-B", RELAY, listen, address]
        self._relay = process.Process(argv, self._folder / f"relay-{self._name}.log")
        self._relay.wait_for(lambda: "ready" in self._relay.output(), 30, "ready")
        return listen

    def cut(self):
        if self._network:
            self._network.cut()
        else:
            self._relay.signal(signal.SIGUSR1)

    def heal(self):
        if self._network:
            self._network.heal()
        else:
            self._relay.signal(signal.SIGUSR2)

    def close(self):
        for part in (self._network, self.group):
            if part:
                part.close()
        if self._relay:
            self._relay.stop()
