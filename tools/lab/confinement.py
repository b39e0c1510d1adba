"""What keeps the nodes of a cluster apart on one machine: a network and a control group for each, as far as the system lets us.

Whatever a system does not allow raises Unavailable with the reason, so that a campaign can say so and go on without.
"""

import os
import pathlib
import re
import shutil

from lab import process

_CGROUPS = pathlib.Path("/sys/fs/cgroup")
# Of the cgroup's own accounting of processor time.
_PERIOD_US = 100_000


class Unavailable(Exception):
    """The system does not let us; the message says what and why."""


def _must(*argv):
    try:
        done = process.run(argv, 20)
    except (OSError, process.LabError) as error:
        raise Unavailable(f"{argv[0]}: {error}") from None
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, argv))}: {done.stderr.strip()}")


class Network:
    """A network namespace that a pair of virtual cables ties to this one. Whoever makes it lets it go by `close`.

    `number`, 1 to 250, makes addresses and names: 10.77.N.1 here, `host` = 10.77.N.2 there.
    """

    def __init__(self, folder, number):
        for tool in ("ip", "unshare", "nsenter"):
            if not shutil.which(tool):
                raise Unavailable(f"there is no {tool}")
        self.host = f"10.77.{number}.2"
        self._here, self._there = f"isonode{number}", "isouplink"
        self._holder = process.Process(["unshare", "--net", "sleep", "infinity"], pathlib.Path(folder) / f"network-{number}.log")
        try:
            self._namespace = pathlib.Path(f"/proc/{self._holder.pid}/ns/net")
            self._wait_for_the_namespace()
            self.wrapper = ["nsenter", f"--net={self._namespace}"]
            _must("ip", "link", "add", self._here, "type", "veth", "peer", "name", self._there, "netns", self._holder.pid)
            _must("ip", "address", "add", f"10.77.{number}.1/24", "dev", self._here)
            _must("ip", "link", "set", self._here, "up")
            _must(*self.wrapper, "ip", "link", "set", "lo", "up")
            _must(*self.wrapper, "ip", "address", "add", f"{self.host}/24", "dev", self._there)
            self.heal()
        except BaseException:
            self.close()
            raise

    def _wait_for_the_namespace(self):
        def other():
            if self._holder.exit_code() is not None:
                raise Unavailable(f"unshare --net: {self._holder.output().strip()}")
            return os.readlink(self._namespace) != os.readlink("/proc/self/ns/net")

        process.wait_until(other, 20, "a network of its own")

    def cut(self):
        """Nothing comes through any more, in either direction, and nobody is told: connections stay as they are."""
        _must(*self.wrapper, "ip", "link", "set", self._there, "down")

    def heal(self):
        _must(*self.wrapper, "ip", "link", "set", self._there, "up")

    def close(self):
        self._holder.stop()  # the cable goes with the namespace


def processors():
    return len(os.sched_getaffinity(0))


class ControlGroup:
    """Limits of memory and of processor time, and what was used. cgroup v2, or the v1 hierarchies `cpu` and `memory`."""

    def __init__(self, name, memory_bytes, cores):
        self._name = f"isocenter-{os.getpid()}-{name}"
        self._cores = cores
        if (_CGROUPS / "cgroup.controllers").exists():
            self._cpu = self._memory = self._make(_own_group_v2())
            self._v2 = True
        else:
            self._v2 = False
            self._cpu = self._make(_own_group_v1("cpu"))
            try:
                self._memory = self._make(_own_group_v1("memory"))
            except BaseException:
                self._cpu.rmdir()
                raise
        try:
            self._write(self._memory / ("memory.max" if self._v2 else "memory.limit_in_bytes"), memory_bytes)
            self.throttle(1)
        except BaseException:
            self.close()
            raise
        # The shell enters, and becomes the program.
        enter = " && ".join(f"echo $$ >{group}/cgroup.procs" for group in sorted({self._cpu, self._memory}))
        self.wrapper = ["/bin/sh", "-c", f'{enter} && exec "$@"', "sh"]

    def _make(self, parent):
        group = parent / self._name
        try:
            group.mkdir()
        except OSError as error:
            raise Unavailable(str(error)) from None
        return group

    @staticmethod
    def _write(file, text):
        try:
            file.write_text(str(text))
        except OSError as error:
            raise Unavailable(f"{file}: {error}") from None

    def throttle(self, share):
        """Only so much of its processor time; 1: all of it."""
        quota = max(1000, int(self._cores * share * _PERIOD_US))
        if self._v2:
            self._write(self._cpu / "cpu.max", f"{quota} {_PERIOD_US}")
        else:
            self._write(self._cpu / "cpu.cfs_period_us", _PERIOD_US)
            self._write(self._cpu / "cpu.cfs_quota_us", quota)

    def close(self):
        for group in {self._cpu, self._memory}:
            try:
                group.rmdir()
            except OSError:
                pass  # a process that is about to end is still in it


def _own_group_v1(controller):
    """The group of that hierarchy in which this process may make others: its own, or the topmost."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            for place in (_CGROUPS / controller / path.lstrip("/"), _CGROUPS / controller):
                if os.access(place, os.W_OK):
                    return place
    raise Unavailable(f"there is no cgroup of {controller} that may be written")


def _own_group_v2():
    # A group that has processes may not hand controllers on, but for the topmost one; containers see theirs as that.
    path = re.search(r"^0::(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    for place in (_CGROUPS / path[1].lstrip("/") if path else _CGROUPS, _CGROUPS):
        try:
            (place / "cgroup.subtree_control").write_text("+cpu +memory")
            return place
        except OSError as error:
            why = str(error)
    raise Unavailable(why)
