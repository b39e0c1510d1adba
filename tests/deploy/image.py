"""The image, built by buildah on local bases in a store of its own, and commands in a container of it."""

import pathlib
import shutil
import tempfile

import debian_root
from lab import process

_IMAGE = "localhost/isocenter:test"
_BASE = "localhost/debian:12-slim"
_HOURS = 3600


class Image:
    def __init__(self, context, *options):
        """Builds it from the Dockerfile in `context`."""
        self._buildah = process.find_tool("buildah", "buildah")
        self._store = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-images-"))
        try:
            base = self.call("from", "scratch")
            self.call("add", base, debian_root.base(), "/")
            self.call("commit", base, _BASE)
            self.call(
                *("build", "--isolation", "chroot", "--format", "docker", "--layers=false", "--tag", _IMAGE),
                *("--build-arg", f"BUILD_BASE={_BASE}", "--build-arg", f"RUNTIME_BASE={_BASE}", *options, context),
            )
            self._container = self.call("from", _IMAGE)
        except BaseException:
            self.remove()
            raise

    def remove(self):
        shutil.rmtree(self._store, ignore_errors=True)

    def call(self, *arguments, before=()):
        store = ("--storage-driver", "vfs", "--root", self._store / "root", "--runroot", self._store / "run")
        done = process.run([*before, self._buildah, *store, *arguments], 2 * _HOURS)
        if done.returncode != 0:
            raise process.LabError(f"buildah {arguments[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout.strip().rpartition("\n")[2] if arguments[0] in ("from", "commit") else done.stdout

    def run(self, script):
        """By the image's own user and environment, without a network but for loopback."""
        private = debian_root.ROOT / "tools/lab/private_net.sh"
        return self.call("run", "--isolation", "chroot", self._container, "--", "sh", "-euc", script, before=[private])

    def inspect(self):
        return self.call("inspect", "--type", "image", _IMAGE)
