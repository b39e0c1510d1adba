"""`isocenterd --check` refuses what the start refuses as wrong configuration (exit code 2), in the same words. What the
start cannot have for another reason (exit code 1) is the machine's state, which --check says and is "ok" with."""

import os
import re
import socket

import dated_certificate
import support
from lab import certificates, isocenter, process

ADDRESSES = ("grpc_address", "metrics_address", "web_address")
PEER = 'peer { ae_title: "PACS" host: "pacs" port: 104 '

# The fragment of a configuration, and what both say of it. The folder holds good.pem, good.key, old.pem (expired),
# old.key, future.pem (not valid yet), future.key, open.key (good.key, that everybody may read), tokens (that everybody may write) and text (none of these).
WRONG = (
    ("no_such_field: 1", "no_such_field"),
    (
        'web { volume_cache_directory: "~/viewer" }',
        "web.volume_cache_directory is '~/viewer'; legal is a path without ~ and $",
    ),
    ('spool { directory: "$HOME/spool" }', "spool.directory is '$HOME/spool'; legal is a path without"),
    ('web { tls { certificate_file: "${CERTS}/a.pem" } }', "web.tls.certificate_file is '${CERTS}/a.pem'"),
    ('cluster { node_name: "r\\374m" }', "cluster.node_name is 'r\\xfcm', which is not UTF-8: byte 0xFC at offset 1"),
    ('default_protocol: "none"', "default_protocol"),
    ('protocol { name: "mine" filter_cutoff: 7 }', "filter_cutoff"),
    ("drain_seconds: -1", "drain_seconds is -1"),
    ("limits { gpus: 3 gpus_per_job: 2 }", "limits.gpus_per_job is 2"),
    ("limits { memory_bytes: 1 }", "limits.memory_bytes is 1"),
    ('spool { directory: "archive" }', "spool.directory is 'archive'"),
    ('cluster { node_name: "a b" }', "cluster.node_name is 'a b'"),
    ('grpc_tls { certificate_file: "missing" private_key_file: "good.key" }', "grpc_tls.certificate_file is"),
    ('grpc_tls { certificate_file: "old.pem" private_key_file: "old.key" }', "has expired"),
    (
        'grpc_tls { certificate_file: "future.pem" private_key_file: "future.key" }',
        "grpc_tls.certificate_file is future.pem, whose certificate of CN=future is not valid yet: it holds from",
    ),
    (
        'grpc_tls { certificate_file: "good.pem" private_key_file: "good.key" client_ca_file: "old.pem" }',
        "grpc_tls.client_ca_file is old.pem, whose certificate of CN=old has expired: from",
    ),
    (
        'dicom_node { tls { certificate_file: "old.pem" private_key_file: "old.key" ca_file: "good.pem" } }',
        "dicom_node.tls.certificate_file is old.pem, whose certificate of CN=old has expired: from",
    ),
    (
        'dicom_node { tls { certificate_file: "good.pem" private_key_file: "good.key" ca_file: "old.pem" } }',
        "dicom_node.tls.ca_file is old.pem, whose certificate of CN=old has expired: from",
    ),
    ('grpc_tls { certificate_file: "good.pem" private_key_file: "old.key" }', "is not the key"),
    ('web { tls { certificate_file: "text" private_key_file: "good.key" } }', "web.tls.certificate_file is"),
    ('web { tokens_file: "missing" }', "web.tokens_file is"),
    ('web { tokens_file: "text" }', "text"),
    ('web { tokens_file: "tokens" }', "tokens, which has mode 0666; legal is 0600 or 0640"),
    (
        'grpc_tls { certificate_file: "good.pem" private_key_file: "open.key" }',
        "grpc_tls.private_key_file is open.key, which has mode 0644; legal is 0600 or 0640",
    ),
    (
        'web { tls { certificate_file: "good.pem" private_key_file: "open.key" } }',
        "web.tls.private_key_file is open.key, which has mode 0644",
    ),
    (
        'dicom_node { tls { certificate_file: "good.pem" private_key_file: "open.key" ca_file: "good.pem" } }',
        "dicom_node.tls.private_key_file is open.key, which has mode 0644",
    ),
    (
        'dicom_node { destination { dicomweb { name: "C" url: "https://a/studies" bearer_token_file: "open.key" } } }',
        "dicom_node.destination.C.dicomweb.bearer_token_file is open.key, which has mode 0644; legal is 0600 or 0640",
    ),
    (
        'dicom_node { destination { dicomweb { name: "C" url: "https://a/studies" ca_file: "text" } } }',
        "dicom_node.destination.C.dicomweb.ca_file is text",
    ),
    (
        'dicom_node { destination { dicomweb { name: "C" url: "https://a/studies"'
        ' certificate_file: "good.pem" private_key_file: "old.key" } } }',
        "dicom_node.destination.C.dicomweb.private_key_file is old.key",
    ),
    # Beyond this machine.
    ('dicom_node { address: "0.0.0.0" }', "dicom_node.address is '0.0.0.0'; legal is 127.0.0.1 or localhost"),
    ('dicom_node { address: "0.0.0.0" } unprotected_listener: LISTENER_GRPC', "dicom_node.address is '0.0.0.0'"),
    ("unprotected_listener: LISTENER_UNSPECIFIED", "unprotected_listener is 0"),
    ('audit { syslog { host: "siem" ca_file: "missing" } }', "audit.syslog.ca_file is"),
    (
        'audit { syslog { host: "siem" ca_file: "good.pem" certificate_file: "good.pem"'
        ' private_key_file: "old.key" } }',
        "audit.syslog.private_key_file is",
    ),
    (
        'spool { sync: SYNC_POLICY_REPLICATED } cluster { node_name: "a" node: "a" node: "b" replication { keeper { node: "b" address: "b:50051"'
        ' ca_file: "good.pem" certificate_file: "good.pem" private_key_file: "old.key" } } }',
        "cluster.replication.keeper.private_key_file is old.key",
    ),
    (
        'cluster { node_name: "a" node: "a" node: "b" peer { node: "b" address: "b:50051" }'
        ' peer_tls { ca_file: "text" certificate_file: "good.pem" private_key_file: "good.key" } }',
        "cluster.peer_tls.ca_file is text",
    ),
    ('dicom_node { address: "127.0.0.999" }', "dicom_node.address is '127.0.0.999'"),
    ("dicom_node { allowed_caller { } }", "dicom_node.allowed_caller[0] has neither"),
    (
        'dicom_node { allowed_caller { ae_title: "A" } allowed_caller { address: "10.1" } }',
        "dicom_node.allowed_caller[1].address is '10.1'",
    ),
    (
        'dicom_node { allowed_caller { ae_title: "SEVENTEEN LETTERS" } }',
        "dicom_node.allowed_caller[0].ae_title is 'SEVENTEEN LETTERS'",
    ),
    ('dicom_node { ' + PEER + 'tls: true tls_ca_file: "missing" } }', "dicom_node.peer.PACS.tls.ca_file is"),
    (
        'dicom_node { ' + PEER + 'tls: true tls_ca_file: "good.pem" tls_certificate_sha256: "12" } }',
        "tls_certificate_sha256 is '12'",
    ),
    (
        'dicom_node { tls { certificate_file: "good.pem" private_key_file: "old.key" ca_file: "good.pem" } }',
        "is not the key",
    ),
)

WRONG_FLAGS = (
    (("--backend", "bogus"), "bogus"),
    (("--fault", "cpu0"), "--fault is 'cpu0'"),
    (("--grpc_address", "999.1.1.1:50051"), "grpc_address is '999.1.1.1:50051'"),
    (("--metrics_address", "a b:0"), "metrics_address is 'a b:0'"),
    (("--metrics_address", "[::1]:0"), "metrics_address is '[::1]:0'"),
    (("--web_address", "127.0.0.999:0"), "web.address is '127.0.0.999:0'"),
    (("--grpc_address", "127.0.0.1:5000", "--metrics_address", "0.0.0.0:5000"), "metrics_address is '0.0.0.0:5000'"),
    (("--no_such_flag",), "--no_such_flag"),
    (("--archive", ""), "archive_directory is ''; legal is the name of a directory"),
    (("--config", "j.json"), "--config is j.json, which is JSON; legal is a configuration in protobuf text format"),
    (("--grpc_address", "0.0.0.0:0"), "grpc_address is '0.0.0.0:0'; legal is 127.0.0.1:port or localhost:port"),
    (("--dicom_address", "0.0.0.0"), "dicom_node.address is '0.0.0.0'"),
    (("--unprotected_listener", "web"), "web"),
    (("--config", ""), "--config is '', which cannot be read"),
    (("--config", "."), "--config is ., which is a directory; legal is a file"),
    (("--config", "pipe"), "--config is pipe, which is a pipe; legal is a file"),
    (("--config", "/dev/zero"), "--config is /dev/zero, which is a device; legal is a file"),
    (("--config", "large"), "--config is large, which has 1073741824 bytes; legal is at most 16777216"),
    (("--config", "missing"), "--config is missing, which cannot be read: No such file or directory"),
)

# Every field that names a file that is read at the start.
FILES = (
    'grpc_tls {{ certificate_file: "{0}" private_key_file: "good.key" }}',
    'grpc_tls {{ certificate_file: "good.pem" private_key_file: "{0}" }}',
    'grpc_tls {{ certificate_file: "good.pem" private_key_file: "good.key" client_ca_file: "{0}" }}',
    'web {{ tls {{ certificate_file: "{0}" private_key_file: "good.key" }} }}',
    'web {{ tls {{ certificate_file: "good.pem" private_key_file: "good.key" client_ca_file: "{0}" }} }}',
    'web {{ tokens_file: "{0}" }}',
    'audit {{ syslog {{ host: "siem" ca_file: "{0}" }} }}',
    'dicom_node {{ tls {{ certificate_file: "{0}" private_key_file: "good.key" ca_file: "good.pem" }} }}',
    'dicom_node {{ tls {{ certificate_file: "good.pem" private_key_file: "{0}" ca_file: "good.pem" }} }}',
    'dicom_node {{ tls {{ certificate_file: "good.pem" private_key_file: "good.key" ca_file: "{0}" }} }}',
)


class ConfigurationTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        openssl = support.need("openssl", "openssl")
        dated_certificate.issue(openssl, self.folder, "good", -3600, 86400)
        dated_certificate.issue(openssl, self.folder, "old", -7200, -3600)
        dated_certificate.issue(openssl, self.folder, "future", 3600, 86400)
        dated_certificate.issue(openssl, self.folder, "long", -3600, 31 * 86400)
        (self.folder / "text").write_text("neither PEM nor JSON\n")
        (self.folder / "j.json").write_text('{"drain_seconds": 1}\n')
        tokens = self.folder / "tokens"
        tokens.write_text("")
        tokens.chmod(0o666)
        (self.folder / "open.key").write_bytes((self.folder / "good.key").read_bytes())
        (self.folder / "open.key").chmod(0o644)
        os.mkfifo(self.folder / "pipe")
        with open(self.folder / "large", "wb") as large:
            large.truncate(1 << 30)  # a hole
        self.config = self.folder / "isocenterd.textproto"
        self.config.write_text("")

    def isocenterd(self, *flags, log="off"):
        """Its exit code (None: it serves) and its complaint, but for the time at which it is made."""
        own = {"--dicom_port": "0", "--archive": "archive"} | {f"--{name}": "127.0.0.1:0" for name in ADDRESSES}
        config = [] if "--config" in flags else ["--config", self.config]
        own = [f"{flag}={value}" for flag, value in own.items() if flag not in flags]
        child = process.Process(
            [isocenter.binary("isocenterd"), *config, f"--log_level={log}", *own, *flags],
            self.folder / "log",
            cwd=self.folder,
        )
        self.addCleanup(child.stop)
        process.wait_until(
            lambda: child.exit_code() is not None or re.search("^ready ", child.output(), re.MULTILINE), 120, "either ready or refused"
        )
        code, said = child.exit_code(), child.output()
        child.stop()
        child.log.unlink()
        return code, re.sub(r"; now is .* UTC", "", said.strip())

    def both(self, *flags):
        return self.isocenterd("--check", *flags), self.isocenterd(*flags)

    def test_wrong_files_and_fields(self):
        for text, word in WRONG:
            with self.subTest(text):
                self.config.write_text(text)
                check, start = self.both()
                self.assertEqual(check[0], 2, check[1])
                self.assertIn(word, check[1])
                self.assertEqual(start, check)

    def test_wrong_flags(self):
        for flags, word in WRONG_FLAGS:
            with self.subTest(flags):
                check, start = self.both(*flags)
                self.assertEqual(check[0], 2, check[1])
                self.assertIn(word, check[1])
                self.assertEqual(start, check)

    def test_what_is_no_file(self):
        for text in FILES:
            for path, said in (
                (".", "which is a directory; legal is a file"),
                ("pipe", "which is a pipe; legal is a file"),
                ("/dev/zero", "which is a device; legal is a file"),
                ("large", "which has 1073741824 bytes; legal is at most"),
            ):
                with self.subTest(text=text, path=path):
                    self.config.write_text(text.format(path))
                    code, complaint = self.isocenterd("--check")
                    self.assertEqual(code, 2, complaint)
                    self.assertIn(f" is {path}, {said}", complaint)

    def test_the_state_of_the_machine(self):
        """Nothing of it is wrong configuration: another start may succeed."""
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        (self.folder / "file").write_text("")
        (self.folder / "page").mkdir()
        in_use = "which cannot be listened on: Address already in use; legal is a port that no other program has"
        for flags, text, said in (
            (("--grpc_address", f"127.0.0.1:{port}"), "", f"grpc_address is 127.0.0.1:{port}, {in_use}"),
            (("--metrics_address", f"127.0.0.1:{port}"), "", f"metrics_address is 127.0.0.1:{port}, {in_use}"),
            (("--web_address", f"127.0.0.1:{port}"), "", f"web.address is 127.0.0.1:{port}, {in_use}"),
            (("--dicom_port", str(port)), "", f"dicom_node.port is 127.0.0.1:{port}, {in_use}"),
            (
                ("--dicom_address", "no-such-host.invalid", "--unprotected_listener", "dicom"),
                "",
                "dicom_node.port is no-such-host.invalid:",
            ),
            (("--spool", "file/spool"), "", "spool.directory is file/spool; cannot write to "),
            (("--archive", "file/archive"), "", "archive_directory is file/archive; cannot write to "),
            (("--spool", "/proc/x"), "", "spool.directory is /proc/x; cannot write to "),
            (("--archive", "/proc/x"), "", "archive_directory is /proc/x; cannot write to "),
            ((), 'web { volume_cache_directory: "file/viewer" }', "web.volume_cache_directory is file/viewer; cannot write to "),
            ((), 'web { page_directory: "page" }', ""),  # the only one that has begun when it fails
        ):
            with self.subTest(flags=flags, text=text):
                self.config.write_text(text)
                check, start = self.both(*flags)
                self.assertEqual((check[0], check[1].splitlines()[-1]), (0, "ok"))
                if said:
                    self.assertIn(f"isocenterd: a start now would fail: {said}", check[1])
                self.assertEqual(start[0], 1, start[1])
                self.assertIn("isocenterd: ", start[1])
                if said:
                    self.assertIn(said, start[1])
                    self.assertFalse((self.folder / "archive").exists(), "a failed start has made a directory")

    def test_the_audit_trails_file(self):
        """--check looks at it, makes nothing, and ends with 1: another start may find it better."""
        (self.folder / "file").write_text("mine\n")
        for file, said in (
            ("file/audit.jsonl", "audit.file is file/audit.jsonl; cannot "),
            ("file", "audit.file is file; which is there and holds no audit records"),
        ):
            with self.subTest(file):
                self.config.write_text(f'audit {{ file: "{file}" }}')
                check, start = self.both()
                self.assertEqual((check[0], start[0]), (1, 1), check[1] + start[1])
                self.assertIn(said, check[1])
                self.assertIn(said, start[1])
        self.config.write_text('audit { file: "new/audit.jsonl" }')
        self.assertEqual(self.isocenterd("--check"), (0, "ok"))
        self.assertFalse((self.folder / "new").exists())

    def test_what_certificates_are_for(self):
        """One that clients would refuse is refused; names that it lacks are said."""
        authority = certificates.Authority(self.folder)
        authority.certificate("client", usage="clientAuth")
        authority.certificate("server", usage="serverAuth")
        authority.certificate("both", usage="serverAuth,clientAuth")
        files = 'certificate_file: "{0}.pem" private_key_file: "{0}.key"'
        syslog = 'audit {{ syslog {{ host: "siem" ca_file: "ca.pem" ' + files + " }} }}"
        for text, name, said in (
            ("grpc_tls {{ " + files + " }}", "client", "CN=client is not for servers: whoever checks it refuses it; legal is"),
            ("web {{ tls {{ " + files + " }} }}", "client", "whose extended key usage has serverAuth, or none"),
            (syslog, "server", "CN=server is not for clients"),
        ):
            with self.subTest(name):
                self.config.write_text(text.format(name))
                check, start = self.both()
                self.assertEqual(check[0], 2, check[1])
                self.assertIn(said, check[1])
                self.assertEqual(start, check)
                self.config.write_text(text.format("both"))
                self.assertEqual(self.isocenterd("--check"), (0, "ok"))
        for text, address, said in (
            ("grpc_tls {{ " + files + " }}", "127.0.0.1:0", None),
            ("grpc_tls {{ " + files + " }}", "recon1.example:0", 'certificate_of_another_host field=grpc_tls.certificate_file file="both.pem"'),
        ):
            self.config.write_text(text.format("both"))
            code, told = self.isocenterd("--check", "--grpc_address", address, "--unprotected_listener", "grpc", log="warn")
            self.assertEqual(code, 0, told)
            (self.assertIn(said, told) if said else self.assertNotIn("another_host", told))
        self.config.write_text(("grpc_tls {{ " + files + " }}").format("long"))
        self.assertIn("event=certificate_without_names", self.isocenterd("--check", log="warn")[1])
        self.config.write_text(("dicom_node {{ tls {{ " + files + ' ca_file: "ca.pem" }} }}').format("server"))
        self.assertIn("has no clientAuth", self.isocenterd("--check", log="warn")[1])

    def test_certificates_that_end_soon(self):
        """Each is told with its end, by --check and by the start; one that holds for longer than 30 days is not."""
        self.config.write_text(
            'grpc_tls { certificate_file: "good.pem" private_key_file: "good.key" client_ca_file: "long.pem" } '
            'dicom_node { tls { certificate_file: "long.pem" private_key_file: "long.key" ca_file: "good.pem" } }'
        )
        for flags in (("--check",), ()):
            with self.subTest(flags):
                code, said = self.isocenterd(*flags, log="warn")
                self.assertEqual(code, 0 if flags else None, said)
                told = re.findall(r'event=certificate_ends_soon field=(\S+) ends="[-0-9]+ [:0-9]+ UTC" now=', said)
                self.assertEqual(sorted(told), ["dicom_node.tls.ca_file", "grpc_tls.certificate_file"], said)

    def test_right(self):
        check, start = self.both()
        self.assertEqual(check, (0, "ok"))
        self.assertIsNone(start[0], start[1])


if __name__ == "__main__":
    support.main()
