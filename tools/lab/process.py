"""Child processes that never outlive their parent, and free ports."""

import ctypes
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class LabError(Exception):
    """Something that the lab needs went wrong; the message says what and what to do."""


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def find_tool(name, package):
    """The path of a program, or an error that names its Debian package."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise LabError(f"{name} was not found; install it with: ./dev setup (package {package})")
    return path


# Of each port that this process has been given, a name that it holds as long as it lives; tests/fault/daemon.cc does the same.
_held_ports = []
# Below those that the system gives to outgoing connections: one of these could be given a server's port before it listens, or
# while it is down, and who tries to reach the server would then be connected to himself.
_PORTS = range(10000, 30000)
_draws = random.SystemRandom()


def _before_exec():
    """What a child does first; nothing beside gRPC, whose threads a fork may wait for without end: without it the child is not forked but
    spawned, and is ended by whoever began it."""
    return None if "grpc" in sys.modules else _die_with_parent


def free_port():
    """A port of the loopback interface that nobody listens on, and that no test of this network has been given, here or in another
    process: it may be listened on later, and again after a restart."""
    while True:
        port = _draws.choice(_PORTS)
        # Names without a place in the file system belong to the network, as ports do, and end with whoever holds them.
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0isocenter-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        _held_ports.append(held)
        return port


def listens(port):
    """Whether something takes connections on a port of the loopback interface."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def wait_until(condition, seconds, what):
    """Polls until `condition` returns something true, and returns that."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


class Process:
    """A background process with its output in a file."""

    def __init__(self, argv, log, cwd=None, env=None):
        self.name = pathlib.Path(argv[0]).name
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as file:
            self._popen = subprocess.Popen(
                [str(a) for a in argv],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                preexec_fn=_before_exec(),
            )
        self.pid = self._popen.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def exit_code(self):
        """None while it runs."""
        return self._popen.poll()

    def wait_for(self, condition, seconds, what):
        """As wait_until, and ends early with the process's last words when it dies."""

        def check():
            value = condition()
            if not value and self.exit_code() is not None:
                raise LabError(
                    f"{self.name} ended with exit code {self.exit_code()} before {what}; "
                    f"the end of {self.log}:\n{self.output()[-2000:]}"
                )
            return value

        return wait_until(check, seconds, f"{self.name}: {what} (see {self.log})")

    def signal(self, number):
        self._popen.send_signal(number)

    def wait(self, seconds):
        """Its exit code. Raises LabError when it still runs after that time."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise LabError(f"{self.name} still runs after {seconds} s (see {self.log})") from None

    def stop(self):
        """Ends it, whatever it takes. Harmless when it has ended."""
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(30)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()


def run(argv, seconds=120, env=None, cwd=None):
    """Runs a command to its end; returns subprocess.CompletedProcess with text output."""
    try:
        return subprocess.run(
            [str(a) for a in argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            preexec_fn=_before_exec(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{argv[0]} {argv[1]}: no end after {seconds} s") from None
