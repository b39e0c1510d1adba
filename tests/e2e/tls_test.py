"""gRPC over TLS and mutual TLS, with certificates that openssl makes on the spot."""

import socket
import ssl
import time

import support
from lab import isocenter, process


def http2_frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def reset_call(stream, path):
    """A gRPC call that is begun and taken back (RFC 9113, RFC 7541 without its table)."""
    headers = b"\x83\x87\x04" + bytes([len(path)]) + path + b"\x01\x01x\x00\x02te\x08trailers"
    headers += b"\x0f\x10\x10application/grpc"
    return http2_frame(1, 4, stream, headers) + http2_frame(3, 0, stream, b"\0\0\0\x08")


class TlsTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        self.openssl = support.need("openssl", "openssl")
        self.authority("ca")
        self.certificate("server", "ca", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        self.certificate("console", "ca", "extendedKeyUsage=clientAuth")

    def path(self, name):
        return self.folder / name

    def ssl(self, *arguments):
        done = process.run([self.openssl, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def authority(self, name):
        self.ssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"),
        )

    def certificate(self, name, issuer, extension, days=2):
        self.ssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        self.path(f"{name}.ext").write_text(extension + "\n")
        self.ssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key"),
            *("-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )

    def tls_service(self, config="", **more):
        return self.service(
            tls={"certificate_file": self.path("server.pem"), "private_key_file": self.path("server.key"), **more},
            config=config,
        )

    def protocols(self, service, *options):
        return isocenter.call("protocols", "--server", service.grpc, *options, seconds=60)

    def never(self, service, said, *options):
        """What the client says of a connection that waiting does not bring about."""
        done = self.protocols(service, *options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(said, done.stderr)

    def client(self, name):
        return ("--cert", self.path(f"{name}.pem"), "--key", self.path(f"{name}.key"))

    def served(self, address):
        """The certificate that a new connection is shown, as PEM."""
        host, port = address.rsplit(":", 1)
        return ssl.get_server_certificate((host, int(port))).strip()

    def first_of(self, file):
        return self.path(file).read_text().strip()

    def test_certificates_are_renewed_without_a_restart(self):
        files = f'certificate_file: "{self.path("server.pem")}" private_key_file: "{self.path("server.key")}"'
        dicom_port = process.free_port()
        service = self.service(
            tls={"certificate_file": self.path("server.pem"), "private_key_file": self.path("server.key")},
            web=f"tls {{ {files} }}",
            dicom=f"tls {{ {files} anonymous_callers: true }} tls_port: {dicom_port}",
        )
        fields = ("grpc_tls.certificate_file", "web.tls.certificate_file", "dicom_node.tls.certificate_file")
        doors = (service.grpc, service.web, f"127.0.0.1:{dicom_port}")
        first = self.first_of("server.pem")
        for door in doors:
            self.assertEqual(self.served(door), first)

        def told(event, field):
            return f"event={event} field={field}" in service.process.output()

        # What cannot be used: the one of before stays.
        self.path("rubbish").write_text("no certificate\n")
        self.path("rubbish").rename(self.path("server.pem"))
        for field in ("grpc_tls", "web.tls", "dicom_node.tls"):
            process.wait_until(lambda field=field: told("certificate_not_renewed", field), 60, f"the complaint of {field}")
        for door in doors:
            self.assertEqual(self.served(door), first)
        # A scan goes on over the connection that it has.
        console = self.background(
            [isocenter.binary("isocenter"), "stream", self.bundle(), "--server", service.grpc, "--ca", self.path("ca.pem")]
            + [*support.GRID, "--fps", 10, "--failover-seconds", 0, "--json", self.path("scan.json")],
            "scan",
        )
        self.certificate("next", "ca", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        for suffix in ("pem", "key"):
            self.path(f"next.{suffix}").rename(self.path(f"server.{suffix}"))
        for field in fields:
            process.wait_until(lambda field=field: told("certificate_renewed", field), 60, f"the renewal of {field}")
        second = self.first_of("server.pem")
        self.assertNotEqual(first, second)
        for door in doors:
            self.assertEqual(self.served(door), second)
        done = self.protocols(service, "--ca", self.path("ca.pem"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(console.wait(120), 0, console.output())
        self.assertEqual(support.read_json(self.path("scan.json"))["warnings"], [])

    def test_server_certificate(self):
        service = self.tls_service()
        ca = ("--ca", self.path("ca.pem"))
        done = self.protocols(service, *ca)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.never(service, "expects TLS, and no --ca is given; give the authority that signed its certificate, 'CN=ca'")
        self.authority("other")
        self.never(service, "is signed by 'CN=ca', and --ca", "--ca", self.path("other.pem"))
        # A whole acquisition, not only a short call.
        self.assertEqual(self.stream(service, *ca)["instance_count"], support.INSTANCES)

    def test_wrong_ports(self):
        """Each door of the service says what it is, with and without TLS."""
        service = self.tls_service()
        ports = (
            (service.metrics, "is a web server without TLS"),
            (service.web, "is a web server without TLS"),
            (f"127.0.0.1:{service.dicom_port}", "speaks DICOM and no gRPC"),
        )
        for address, said in ports:
            for ca in ((), ("--ca", self.path("ca.pem"))):
                done = isocenter.call("jobs", "--server", address, *ca, seconds=60)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"{address} {said}", done.stderr)
        # Who sends gRPC or TLS to the port of DICOM stands in its log.
        for said in ("speaks HTTP/2, as gRPC does, and no DICOM", "speaks TLS, and this connection has none"):
            process.wait_until(lambda told=said: told in service.process.output(), 60, said)

    def test_a_certificate_that_does_not_hold(self):
        self.certificate("server", "ca", "subjectAltName=DNS:recon1")
        service = self.tls_service()
        ca = ("--ca", self.path("ca.pem"))
        self.never(service, "is for 'recon1', and --server says '127.0.0.1'; give a name that it has", *ca)
        console = self.client("console")
        wrong_key = (*console[:3], self.path("server.key"))
        done = self.protocols(service, *ca, *wrong_key)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("server.key, which does not belong to the certificate file", done.stderr)

    def test_mutual(self):
        audit = self.path("audit.jsonl")
        service = self.tls_service(f'audit {{ file: "{audit}" }}', client_ca_file=self.path("ca.pem"))
        ca = ("--ca", self.path("ca.pem"))
        self.never(service, "wants to see a certificate of this client, and none is given; give --cert and --key", *ca)
        self.authority("other")
        self.certificate("stranger", "other", "extendedKeyUsage=clientAuth")
        self.never(service, "is signed by 'CN=other', and ", *ca, *self.client("stranger"))
        refused = '"action":"associate","outcome":"refused","service":"grpc"'
        process.wait_until(lambda: refused in audit.read_text(), 60, "the record of a handshake that failed")
        done = self.protocols(service, *ca, *self.client("console"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_log_says_who_failed_and_why(self):
        service = self.tls_service(client_ca_file=self.path("ca.pem"))
        ca = ("--ca", self.path("ca.pem"))
        self.certificate("late", "ca", "extendedKeyUsage=clientAuth", days=-1)
        failures = (
            (ca, "the client showed no certificate", "wants to see a certificate of this client"),
            ((*ca, *self.client("late")), "the client's certificate 'CN=late' has expired on 20", "late.pem has expired on 20"),
            ((), "the client sent plain text to the port of TLS", "expects TLS, and no --ca is given"),
        )
        for options, why, said in failures:
            self.never(service, said, *options)
            line = f'event=tls_handshake_failed endpoint=grpc address="127.0.0.1" why="{why}'
            process.wait_until(lambda told=line: told in service.process.output(), 60, line)
            time.sleep(1.1)  # one line a second

    def test_who_resets_streams_without_end_is_cut(self):
        service = self.tls_service()
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        context.set_alpn_protocols(["h2"])
        host, port = service.grpc.rsplit(":", 1)
        plain = socket.create_connection((host, int(port)), source_address=("127.0.0.2", 0))
        sent, end = 0, time.monotonic() + 30
        with context.wrap_socket(plain, server_hostname=host) as attacker:
            attacker.settimeout(10)
            attacker.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, 0))
            with self.assertRaises((ConnectionError, ssl.SSLError)):
                while time.monotonic() < end:
                    calls = range(2 * sent + 1, 2 * sent + 201, 2)
                    attacker.sendall(b"".join(reset_call(each, b"/isocenter.v1.JobService/ListJobs") for each in calls))
                    sent += 100
                    time.sleep(0.005)
        self.assertLess(sent, 50_000)
        # Other hosts go on.
        self.assertEqual(self.protocols(service, "--ca", self.path("ca.pem")).returncode, 0)


if __name__ == "__main__":
    support.main()
