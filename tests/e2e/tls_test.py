"""gRPC over TLS and mutual TLS, with certificates that openssl makes on the spot."""

import support
from lab import isocenter, process


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

    def certificate(self, name, issuer, extension):
        self.ssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        self.path(f"{name}.ext").write_text(extension + "\n")
        self.ssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key"),
            *("-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )

    def tls_service(self, config="", **more):
        return self.service(
            tls={"certificate_file": self.path("server.pem"), "private_key_file": self.path("server.key"), **more},
            config=config,
        )

    def protocols(self, service, *options):
        return isocenter.call("protocols", "--server", service.grpc, *options, seconds=60)

    def client(self, name):
        return ("--cert", self.path(f"{name}.pem"), "--key", self.path(f"{name}.key"))

    def test_server_certificate(self):
        service = self.tls_service()
        ca = ("--ca", self.path("ca.pem"))
        done = self.protocols(service, *ca)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.protocols(service).returncode, 1, "plain text was accepted")
        self.authority("other")
        self.assertEqual(self.protocols(service, "--ca", self.path("other.pem")).returncode, 1)
        # A whole acquisition, not only a short call.
        self.assertEqual(self.stream(service, *ca)["instance_count"], support.INSTANCES)

    def test_mutual(self):
        audit = self.path("audit.jsonl")
        service = self.tls_service(f'audit {{ file: "{audit}" }}', client_ca_file=self.path("ca.pem"))
        ca = ("--ca", self.path("ca.pem"))
        self.assertEqual(self.protocols(service, *ca).returncode, 1, "a client without certificate was accepted")
        self.authority("other")
        self.certificate("stranger", "other", "extendedKeyUsage=clientAuth")
        self.assertEqual(self.protocols(service, *ca, *self.client("stranger")).returncode, 1)
        refused = '"action":"associate","outcome":"refused","service":"grpc"'
        process.wait_until(lambda: refused in audit.read_text(), 60, "the record of a handshake that failed")
        done = self.protocols(service, *ca, *self.client("console"))
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    support.main()
