"""A fresh Debian system in a folder, and commands in it."""

import contextlib
import fcntl
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from lab import process  # noqa: E402

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
# One download serves all tests.
_CACHE = ROOT / "build" / f"debian-{SUITE}.tar"


def base():
    """An archive of Debian's smallest system; made where there is none yet."""
    _CACHE.parent.mkdir(exist_ok=True)
    with open(_CACHE.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _CACHE.exists():
            debootstrap = process.find_tool("debootstrap", "debootstrap")
            with tempfile.TemporaryDirectory(prefix="isocenter-debian-") as folder:
                _must([debootstrap, "--variant=minbase", SUITE, f"{folder}/root", MIRROR], 1200)
                _must(["tar", "-C", f"{folder}/root", "-cf", f"{_CACHE}.part", "."], 300)
            pathlib.Path(f"{_CACHE}.part").rename(_CACHE)
    return _CACHE


def with_dependencies(deb):
    """An archive of that system with all that a package depends on; made where there is none yet. Needs the mirror."""
    depends = _must(["dpkg-deb", "-f", deb, "Depends"], 60).strip()
    archive = _CACHE.with_name(f"{_CACHE.stem}-{hashlib.sha256(depends.encode()).hexdigest()[:12]}.tar")
    if archive.exists():
        return archive
    root = DebianRoot(base())
    try:
        # Of alternatives the first.
        names = [re.match(r"\s*([^\s(|]+)", part)[1] for part in depends.split(",")]
        shutil.copy("/etc/resolv.conf", root.file("/etc/resolv.conf"))
        root.must("apt-get", "update", seconds=600)
        root.must("apt-get", "install", "--yes", "--no-install-recommends", *names, seconds=1200)
        _must(["tar", "-C", root.path, "--exclude=./proc/*", "-cf", f"{archive}.part", "."], 300)
        pathlib.Path(f"{archive}.part").rename(archive)
    finally:
        root.close()
    return archive


def package():
    """The Debian package that `./dev package` has left."""
    found = sorted((ROOT / "dist").glob("isocenter_*.deb"))
    if not found:
        raise process.LabError("dist/ has no package; make it with: ./dev package")
    return found[-1]


def _must(argv, seconds):
    done = process.run(argv, seconds)
    if done.returncode != 0:
        raise process.LabError(f"{' '.join(map(str, argv))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class DebianRoot:
    """Unpacked for one test; /proc is there, services are never started by packages."""

    def __init__(self, archive):
        """`archive`: base() or with_dependencies()."""
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-root-"))
        _must(["tar", "-C", self.path, "-xpf", archive], 300)
        # /proc, for programs that look where they are. (The mount ends with the test's mount name space, at the latest.)
        _must(["mount", "-t", "proc", "proc", self.path / "proc"], 10)
        policy = self.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def close(self):
        subprocess.run(["umount", "-l", self.path / "proc"], check=False)
        with contextlib.suppress(OSError):
            shutil.rmtree(self.path)

    def argv(self, *command, user=None):
        """What runs a command in it, in a clean environment."""
        who = [f"--userspec={user}:{user}"] if user else []
        settings = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
        return ["chroot", *who, str(self.path), "/usr/bin/env", "-i", *settings, *map(str, command)]

    def run(self, *command, user=None, seconds=120):
        return process.run(self.argv(*command, user=user), seconds)

    def must(self, *command, user=None, seconds=120):
        return _must(self.argv(*command, user=user), seconds)

    def file(self, name):
        return self.path / name.lstrip("/")


if __name__ == "__main__":
    print(base())
    print(with_dependencies(package()))
