"""Somebody who has only the documentation: docs/installation.md brings up a node with TLS, sign-in and a PACS; then it is broken, and
docs/troubleshooting.md says why it refuses. Commands and configuration are read out of the pages and run as they are.

Runs in name spaces of its own, whose /etc, /var/lib and network are the test's. Needs root for that, and is skipped elsewhere.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import dated_certificate
import docs
import support
from lab import isocenter, orthanc, process

CONFIG = pathlib.Path("/etc/isocenter/isocenterd.textproto")
ARCHIVE = pathlib.Path("/var/lib/isocenter/archive")
HOSTS = ("recon1.example.org", "pacs.example.org")
STEPS = "A node with TLS, sign-in and a PACS, step by step"
USER = ("isocenter", 60001)
# What a Debian system has and a test has not: a service manager with its journal, and a password for sudo.
SUDO = f"""#!/bin/sh
[ "$1" != -u ] || {{ shift 2; exec setpriv --reuid={USER[1]} --regid={USER[1]} --clear-groups "$@"; }}
exec "$@"
"""


class FromTheDocsTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        for tool, package in (("openssl", "openssl"), ("curl", "curl"), ("echoscu", "dcmtk"), ("Orthanc", "orthanc")):
            support.need(tool, package)
        # The service's user reaches what is in it.
        self.folder.chmod(0o755)
        self.log = self.folder / "journal"
        self.log.touch()
        self.daemon = None
        self.own_system()
        self.desk = self.folder / "desk"
        self.desk.mkdir()

    # A machine of its own.

    def own_system(self):
        etc, state, tools = (self.folder / name for name in ("etc", "state", "tools"))
        shutil.copytree("/etc", etc, symlinks=True)
        with open(etc / "hosts", "a") as file:
            file.writelines(f"127.0.0.1 {host}\n" for host in HOSTS)
        for name, line in (("passwd", ":x:{0}:{0}::/nonexistent:/bin/false\n"), ("group", ":x:{0}:\n")):
            with open(etc / name, "a") as file:
                file.write(USER[0] + line.format(USER[1]))
        (etc / "isocenter").mkdir()
        (state / "isocenter").mkdir(parents=True)
        os.chown(state / "isocenter", USER[1], USER[1])
        for source, there in ((etc, "/etc"), (state, "/var/lib")):
            self.must("mount", "--bind", source, there)
            self.addCleanup(subprocess.run, ["umount", "-l", there], check=False)
        tools.mkdir()
        for name, text in (
            ("sudo", SUDO),
            ("journalctl", f"#!/bin/sh\ncat {self.log}\n"),
            ("systemctl", f'#!/bin/sh\necho "$@" >>{self.folder}/asked\n'),
        ):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        programs = pathlib.Path(isocenter.binary("isocenter")).resolve().parent
        self.path = f"{tools}:{programs}:/usr/sbin:/usr/bin:/sbin:/bin"

    def must(self, *argv):
        done = process.run(argv)
        self.assertEqual(done.returncode, 0, done.stderr)

    def shell(self, commands):
        """Runs them as a person would, one block after the other in one shell; exit code, standard output and error."""
        state = self.folder / "shell"
        script = f"trap 'code=$?; {{ export -p; declare -f; }} >{state}; exit $code' EXIT\n"
        script += (f". {state}\n" if state.exists() else "") + "set -eo pipefail\n" + commands
        done = process.run(["bash", "-c", script], 300, env={"PATH": self.path}, cwd=self.desk)
        return done.returncode, done.stdout + done.stderr

    def follow(self, commands):
        code, said = self.shell(commands)
        self.assertEqual(code, 0, f"{commands}\n{said}")
        return said

    def start(self, *flags):
        """What systemd does when it is asked to; True when the service came up."""
        self.stop()
        argv = ["setpriv", f"--reuid={USER[1]}", f"--regid={USER[1]}", "--clear-groups"]
        program = isocenter.binary("isocenterd").resolve()
        self.daemon = process.Process([*argv, program, "--config", CONFIG, *flags], self.log)
        self.addCleanup(self.daemon.stop)
        seen = len(self.log.read_text())

        def settled():
            return self.daemon.exit_code() is not None or "\nready " in "\n" + self.log.read_text()[seen:]

        process.wait_until(settled, 120, "a start that succeeds or fails")
        return self.daemon.exit_code() is None

    def stop(self):
        if self.daemon is not None and self.daemon.exit_code() is None:
            self.daemon.signal(signal.SIGTERM)
            self.assertEqual(self.daemon.wait(90), 0)

    def bring_up(self):
        """Installation, step by step; what each block of commands said."""
        steps = docs.section("installation.md", STEPS)
        (config,) = docs.blocks(steps, "textproto")
        said = []
        # What an administrator writes before it is checked.
        CONFIG.write_text(config)
        for block in docs.blocks(steps, "sh"):
            if "isocenterd --check" in block:
                # The PACS gets its certificate from the same hands.
                self.start_pacs()
            said.append(self.follow(block))
            asked = self.folder / "asked"
            if asked.exists():
                self.assertEqual(asked.read_text(), "restart isocenterd\n")
                asked.unlink()
                self.assertTrue(self.start(), self.log.read_text())
        return said

    def start_pacs(self):
        files = [self.desk / name for name in ("pacs.example.org.pem", "pacs.example.org.key", "ca.pem")]
        self.pacs = orthanc.Orthanc(
            self.folder / "orthanc", 2762, 4242, settings={"DicomAet": "PACS"}, tls=files
        )
        self.addCleanup(self.pacs.stop)
        self.pacs.start()

    # What must hold.

    def test_a_node_from_the_docs(self):
        said = self.bring_up()
        scan, api = said[-2], said[-1]
        self.assertIn("serving\n", scan)
        self.assertRegex(scan, r"(?m)^\d+T\S+ +PACS +committed ")
        self.assertEqual(self.pacs.instance_count(), support.INSTANCES)
        answers = [json.loads(line) for line in re.sub(r"\}\s*\{", "}\n{", api).splitlines()]
        self.assertEqual(answers[0], {"ok": True, "reasons": []})
        self.assertEqual([job["state"] for job in answers[1]["jobs"]], ["completed"])
        self.assertFalse(answers[2]["ready"])
        self.assertEqual(answers[2]["draining"]["by"], "ward 3")
        self.assertTrue(answers[3]["ready"])
        # Two roles: a viewer may look only; without a token nobody.
        drain = "curl -sS -o /dev/null -w '%{{http_code}}' --cacert ca.pem {} -X POST https://recon1.example.org:8443/api/v1/node:drain"
        self.assertEqual(self.follow(drain.format('-H "Authorization: Bearer $(cat viewer.token)"')), "403")
        self.assertEqual(self.follow(drain.format("")), "401")
        # Others get nothing.
        plain = "echoscu -aet PACS -aec ISOCENTER recon1.example.org"
        self.assertNotEqual(self.shell(f"{plain} 11112")[0], 0)
        self.assertNotEqual(self.shell(f"{plain} 2762")[0], 0)

    def explained(self, text, *words):
        """The documentation explains a message in the text, and the row says these words."""
        rows = docs.explanations(text)
        self.assertTrue(rows, f"docs/troubleshooting.md does not explain:\n{text}")
        for word in words:
            self.assertTrue(any(word in row for row in rows), f"no '{word}' in:\n" + "\n".join(rows))

    def look(self):
        """Where the documentation says to look first: on the console, then on the node."""
        first, second = docs.blocks(docs.section("troubleshooting.md", "Where to look first"), "sh")
        return self.shell("set +e\n" + first)[1], self.shell(f"set +e\n{second.rstrip()} | tail -n 30")[1]

    def scan(self):
        return self.shell("isocenter stream head --grid 64x64x64 --voxel-mm 3")

    def test_why_it_refuses(self):
        self.bring_up()
        for fault in (self.drained, self.pacs_away, self.disk_full, self.wrong_certificates, self.no_device, self.bad_files):
            with self.subTest(fault.__name__):
                fault()

    def drained(self):
        code, said = self.shell("isocenter drain")  # a console may not
        self.assertEqual(code, 5)
        self.explained(said, "--token-file")
        self.follow('isocenter drain --reason "new filter" --token-file operator.token')
        code, said = self.scan()
        self.assertEqual(code, 6)
        self.explained(said, "isocenter resume")
        console, node = self.look()
        self.assertIn("not ready: the node is drained: new filter", console)
        self.assertIn('"ok":false', node)
        self.assertIn("event=acquisition_refused", node)
        self.follow("isocenter resume --token-file operator.token")

    def pacs_away(self):
        self.pacs.stop()
        self.assertEqual(self.scan()[0], 0)
        process.wait_until(lambda: "cannot associate" in self.look()[0], 120, "a first attempt")
        console, node = self.look()
        self.explained(console, "kept and sent when it answers", "isocenterdicomqueuestuck")
        self.explained(node)
        self.pacs.start()
        self.follow("isocenter transfers --watch")
        self.assertEqual(self.pacs.instance_count(), 2 * support.INSTANCES)

    def disk_full(self):
        self.stop()
        self.must("mount", "-t", "tmpfs", "-o", f"size=24m,uid={USER[1]},gid={USER[1]}", "none", ARCHIVE)
        try:
            self.assertTrue(self.start())
            with open(ARCHIVE / "filler", "wb") as file:
                file.write(bytes(20 << 20))
            code, said = self.scan()
            self.assertEqual(code, 6)
            self.explained(said, "](runbook.md#isocenter")
            self.assertIn("event=acquisition_refused", self.look()[1])
            self.stop()
        finally:
            self.must("umount", "-l", ARCHIVE)
        self.assertTrue(self.start())

    def wrong_certificates(self):
        for options, expected, word in (
            ("env -u ISOCENTER_CERT -u ISOCENTER_KEY isocenter jobs", 1, "the console's certificate and its key"),
            ("isocenter jobs --cert pacs.example.org.pem --key pacs.example.org.key", 1, "client_ca_file"),
            ("env -u ISOCENTER_CA -u ISOCENTER_CERT -u ISOCENTER_KEY isocenter jobs", 1, "`--ca` with that authority's certificate"),
            ("isocenter jobs --ca consoles-ca.pem", 1, "openssl s_client"),
            ("isocenter jobs --server 127.0.0.1:50051", 1, "an alias that is not in the certificate"),
            ("isocenter jobs --server recon1.example.org:50052", 6, "systemctl status"),
        ):
            with self.subTest(options):
                code, said = self.shell(options)
                self.assertEqual(code, expected)
                self.explained(said, word)
        self.assertIn("peer did not return a certificate", self.look()[1])

    def no_device(self):
        if not isocenter.has_backend("cuda"):
            return  # a build without CUDA misses none
        self.assertFalse(self.start("--backend", "cuda"))
        self.assertEqual(self.daemon.exit_code(), 1)
        self.explained(self.look()[1], "nvidia-smi")
        self.assertTrue(self.start())

    def bad_files(self):
        """Each is told by --check before the start, and by the start."""
        dated_certificate.issue("openssl", self.desk, "old", -7200, -3600)
        for name, source, word in (
            ("server.key", "pacs.example.org.key", "half a renewal"),
            ("server.pem", "old.pem", "renew it"),
            ("server.pem", "ca.key", "the key"),
            ("web-tokens", None, "root:isocenter"),
        ):
            with self.subTest(name, source=source):
                file = CONFIG.parent / name
                before, mode = file.read_bytes(), file.stat().st_mode
                if source:
                    file.write_bytes((self.desk / source).read_bytes())
                else:
                    file.chmod(0)
                try:
                    code, said = self.shell(f"sudo -u isocenter isocenterd --check --config {CONFIG}")
                    self.assertEqual(code, 2)
                    self.explained(said, word)
                    self.assertFalse(self.start())
                    self.assertEqual(self.daemon.exit_code(), 2)
                finally:
                    file.write_bytes(before)
                    file.chmod(mode)
        self.assertTrue(self.start())

    def test_examples_are_legal(self):
        """Every example of a configuration in the documentation, with the files of the steps."""
        steps = docs.section("installation.md", STEPS)
        sign_on = docs.section("sign-on.md", "Set it up")
        sending = docs.section("dicomweb.md", "Sending")
        for block in docs.blocks(steps, "sh")[:3] + docs.blocks(sign_on, "sh")[:1] + docs.blocks(sending, "sh")[:1]:
            self.follow(block)
        count = 0
        for page in sorted(docs.DOCS.rglob("*.md")):
            for block in docs.blocks(page.read_text(), "textproto"):
                count += 1
                with self.subTest(page.name, example=block.splitlines()[0]):
                    CONFIG.write_text(block)
                    self.follow(f"sudo -u isocenter isocenterd --check --config {CONFIG}")
        self.assertGreater(count, 12)


if __name__ == "__main__":
    if "--inside" in sys.argv:
        sys.argv.remove("--inside")
        support.main()
    if os.geteuid() != 0 or process.run(["unshare", "--mount", "true"]).returncode != 0:
        print("this needs root, and name spaces of its own: skipped")
        sys.exit(support.EXIT_SKIPPED)
    os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv, "--inside"])
