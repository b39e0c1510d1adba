"""A PostgreSQL on a socket of its own. As root it runs as nobody: it refuses to run as root."""

import os
import pathlib
import shutil
import tempfile

from lab import process

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")


class Postgres:
    """Started with an empty database `isocenter`; may be stopped and started again."""

    def __init__(self):
        # Paths of sockets are short.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-pg-", dir="/tmp"))
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.data = self.folder / "data"
        self.call("initdb", "-D", self.data, "-U", "isocenter", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()
        self.call("createdb", "-h", self.folder, "-U", "isocenter", "isocenter")

    @property
    def connection(self):
        return f"host={self.folder} user=isocenter dbname=isocenter"

    def call(self, program, *arguments):
        done = process.run([*self.user, PROGRAMS / program, *arguments], 120, cwd="/")
        if done.returncode != 0:
            raise process.LabError(f"{program}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        self.call("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-o", options, "start")

    def kill(self):
        """At once, as if it had died."""
        self.call("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def stop(self):
        """For good."""
        if (self.data / "postmaster.pid").exists():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
