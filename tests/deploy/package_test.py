"""The Debian package in a fresh Debian system: installed, run, upgraded, removed."""

import contextlib
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import debian_root
from debian_root import package
from lab import process

CONFIG = "/etc/isocenter/isocenterd.textproto"
DATA = "/var/lib/isocenter"


class PackageTest(unittest.TestCase):
    def setUp(self):
        # What the package depends on is there already: this test has no network.
        self.root = debian_root.DebianRoot(debian_root.with_dependencies(package()))
        self.addCleanup(self.root.close)
        self.daemon = None

    def install(self, deb):
        shutil.copy(deb, self.root.file("/tmp/isocenter.deb"))
        return self.root.run("dpkg", "--install", "/tmp/isocenter.deb", seconds=600)

    def must_install(self, deb):
        done = self.install(deb)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start(self):
        """As the unit does: as its user, with a socket for its notifications."""
        where = self.root.file("/tmp/notify")
        where.unlink(missing_ok=True)
        self.notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notifications.close)
        self.notifications.bind(str(where))
        where.chmod(0o777)
        env = ["NOTIFY_SOCKET=/tmp/notify", "WATCHDOG_USEC=600000", "TCP_NODELAY=1"]
        argv = self.root.argv("env", *env, "isocenterd", "--config", CONFIG, user="isocenter")
        self.daemon = process.Process(argv, self.root.file("/tmp/isocenterd.log"))
        self.addCleanup(self.daemon.stop)
        # As systemd does: reads at once whatever comes.
        self.told = []
        threading.Thread(target=self.listen, args=(self.notifications, self.told), daemon=True).start()
        self.wait_for("READY=1\nSTATUS=serves gRPC on 127.0.0.1:50051\n")

    @staticmethod
    def listen(where, told):
        with contextlib.suppress(OSError):  # closed at the test's end
            while True:
                told.append(where.recv(4096).decode())

    def wait_for(self, notification):
        self.daemon.wait_for(lambda: notification in self.told, 60, f"the notification {notification!r}")

    def stop(self):
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(90), 0, self.daemon.output())
        process.wait_until(lambda: "STOPPING=1\nSTATUS=drains\n" in self.told, 10, "to be told of the stop")

    STREAM = ("isocenter", "stream", "/tmp/head", "--grid", "32x32x32", "--voxel-mm", 6)

    def scan(self):
        """The main job: exposed, reconstructed, fetched. Its id."""
        size = ("--frames", 60, "--detector", "78x60", "--pitch-mm", 4.9)
        self.root.must("isocenter", "simulate", "--phantom", "head", "--out", "/tmp/head", *size, user="isocenter")
        summary = self.root.must(*self.STREAM, user="isocenter")
        job = re.search(r"^job\s+(\S+)", summary, re.M)[1]
        self.root.must("isocenter", "fetch", job, "--format", "dicom", "--out", "/tmp/dicom", user="isocenter")
        # The slices, and the volume as one object.
        self.assertEqual(len(list(self.root.file("/tmp/dicom").iterdir())), 32 + 1)
        shutil.rmtree(self.root.file("/tmp/dicom"))
        return job

    def scan_that_is_cut_short(self):
        """Service and console die in the middle of an exposure. The job's id."""
        argv = self.root.argv(*self.STREAM, "--fps", 2, user="isocenter")
        console = process.Process(argv, self.root.file("/tmp/console.log"))
        self.addCleanup(console.stop)

        def receiving():
            jobs = self.root.run("isocenter", "jobs", "--state", "receiving", user="isocenter").stdout
            return re.search(r"(?m)^\d{8}T\S+", jobs)

        job = process.wait_until(receiving, 60, "a job that receives")[0]
        for victim in (self.daemon, console):
            victim.signal(signal.SIGKILL)
            victim.wait(10)
        return job

    def documentation_is_there(self):
        """As files, and served by the node, where the links of alerts lead."""
        doc = self.root.file("/usr/share/doc/isocenter")
        for name in ("docs/runbook.md", "html/runbook.html", "deploy/prometheus/alerts.rules.yml", "changelog.gz"):
            self.root.must("test", "-r", f"/usr/share/doc/isocenter/{name}")
        targets = (doc / "deploy/prometheus/targets.rules.yml").read_text()
        address = re.search(r"docs_url: (\S+)", targets)[1]
        with urllib.request.urlopen(f"{address}/runbook.html", timeout=10) as answer:
            self.assertIn(b'id="isocenterdown"', answer.read())

    def libraries_are_the_systems(self):
        """Those that read the bytes of strangers are replaced by the system's updates."""
        mapped = pathlib.Path(f"/proc/{self.daemon.pid}/maps").read_text()
        for library in ("libssl", "libgrpc", "libprotobuf", "libdcmdata", "libsqlite3"):
            found = set(re.findall(rf"\S+/{library}[^/]*$", mapped, re.M))
            self.assertTrue(found, library)
            for path in found:
                self.assertRegex(path, r"(^|/)(usr/)?lib/[a-z0-9_]+-linux-gnu/", path)

    def newer(self, change=lambda tree: None):
        """The package as its next version."""
        tree = self.root.file("/tmp/newer")
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["dpkg-deb", "--raw-extract", package(), tree], check=True)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"^Version: .*", r"\g<0>+next", control.read_text(), flags=re.M))
        change(tree)
        deb = pathlib.Path(f"{tree}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, deb], check=True, capture_output=True)
        return deb

    def test_install_run_upgrade_remove(self):
        self.must_install(package())
        # Owned by root, readable by the service; state of its own.
        config = self.root.file(CONFIG).stat()
        self.assertEqual((config.st_uid, config.st_mode & 0o777), (0, 0o640))
        self.root.must("test", "-w", DATA, user="isocenter")
        self.assertEqual(self.root.run("test", "-w", CONFIG, user="isocenter").returncode, 1)
        self.assertEqual(self.root.file(DATA).stat().st_mode & 0o777, 0o750)
        unit = self.root.file("/lib/systemd/system/isocenterd.service").read_text()
        for command in re.findall(r"^Exec\w+=(\S+)", unit, re.M):
            self.root.must("test", "-x", command)

        self.start()
        self.wait_for("WATCHDOG=1")
        self.root.must("isocenter", "health", user="isocenter")
        self.documentation_is_there()
        self.libraries_are_the_systems()
        job = self.scan()
        self.stop()
        self.assertEqual(self.root.run("isocenter", "health", user="isocenter").returncode, 6)

        # An upgrade keeps what the administrator wrote, the archive and the spool: also of a job that had not ended.
        self.start()
        cut_short = self.scan_that_is_cut_short()
        with open(self.root.file(CONFIG), "a") as file:
            file.write("# of this site\n")
        self.must_install(self.newer())
        self.assertIn("+next", self.root.must("dpkg-query", "-W", "isocenter"))
        self.assertIn("# of this site", self.root.file(CONFIG).read_text())
        self.start()
        # Its console takes it up again, with the frames that the spool has.
        again = self.root.must(*self.STREAM, "--resume", cut_short, user="isocenter")
        self.assertIn(cut_short, again)
        self.assertRegex(again, r"(?m)^volume +32 x 32 x 32")
        self.assertIn(job, self.root.must("isocenter", "jobs", user="isocenter"))
        self.root.must("isocenter", "fetch", job, "--format", "mha", "--out", "/tmp/volume.mha", user="isocenter")
        self.stop()

        # A purge nobody was asked about keeps the scans.
        self.root.must("dpkg", "--purge", "isocenter")
        self.assertFalse(self.root.file(CONFIG).exists())
        self.assertTrue(self.root.file(f"{DATA}/archive").is_dir())
        self.assertEqual(self.root.run("which", "isocenterd").returncode, 1)
        # Installed again, they are there again.
        self.must_install(package())
        self.start()
        self.assertIn(job, self.root.must("isocenter", "jobs", user="isocenter"))
        self.stop()
        answer = "isocenter isocenter/remove_data boolean true"
        self.root.must("sh", "-c", f"echo {answer} | debconf-set-selections")
        self.root.must("dpkg", "--purge", "isocenter")
        self.assertFalse(self.root.file(DATA).exists())

    def test_a_configuration_that_is_not_legal_stops_the_upgrade(self):
        self.must_install(package())
        before = self.root.file(CONFIG).read_text()
        self.root.file(CONFIG).write_text(before + "drain_seconds: -1\n")
        done = self.install(self.newer())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("drain_seconds", done.stdout + done.stderr)
        self.assertIn("the service was not touched", done.stdout + done.stderr)
        self.root.file(CONFIG).write_text(before)
        self.root.must("dpkg", "--configure", "isocenter")


class UnitTest(unittest.TestCase):
    def test_hardening(self):
        analyze = process.find_tool("systemd-analyze", "systemd")
        unit = debian_root.ROOT / "deploy/isocenterd.service"
        done = process.run([analyze, "security", "--offline=true", "--threshold=20", "--no-pager", unit])
        self.assertEqual(done.returncode, 0, done.stdout[-300:])

    def test_systemd_understands_every_line(self):
        """A misspelt setting would only be a warning in the journal, and no protection."""
        analyze = process.find_tool("systemd-analyze", "systemd")
        text = (debian_root.ROOT / "deploy/isocenterd.service").read_text()
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "isocenterd.service"
            # The programs are not on this machine.
            unit.write_text(re.sub(r"(?m)^(Exec\w+)=\S+", r"\1=/bin/true", text))
            done = process.run([analyze, "verify", "--man=no", unit])
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
            unit.write_text(unit.read_text().replace("NoNewPrivileges", "NoNewPrivilege"))
            self.assertIn("NoNewPrivilege", process.run([analyze, "verify", "--man=no", unit]).stderr)

    def test_stops_after_the_drain(self):
        unit = (debian_root.ROOT / "deploy/isocenterd.service").read_text()
        config = (debian_root.ROOT / "deploy/isocenterd.textproto").read_text()
        drain = float(re.search(r"^drain_seconds: (\d+)", config, re.M)[1])
        self.assertGreaterEqual(float(re.search(r"^TimeoutStopSec=(\d+)", unit, re.M)[1]), drain + 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
