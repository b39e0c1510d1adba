"""DICOM over TLS: Debian's Orthanc finds and pulls with both sides' certificates checked; the audit trail tells of it."""

import json

import support
from lab import orthanc, process


class DicomTlsTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        self.openssl = support.need("openssl", "openssl")
        self.ssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca"),
            *("-keyout", "ca.key", "-out", "ca.pem"),
        )
        for name in ("node", "pacs"):
            self.certificate(name)
        self.audit = self.folder / "audit.jsonl"

    def ssl(self, *arguments):
        done = process.run([self.openssl, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def certificate(self, name):
        self.ssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        (self.folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
        self.ssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", "san", "-out", f"{name}.pem"),
        )

    def path(self, name):
        return self.folder / name

    def tls_service(self, pacs_port):
        """A service without a plain DICOM port; `dicom_port` is that of TLS."""
        port = process.free_port()
        service = self.service(
            dicom=f"""tls_only: true tls_port: {port}
              tls {{ certificate_file: "{self.path("node.pem")}" private_key_file: "{self.path("node.key")}"
                    ca_file: "{self.path("ca.pem")}" }}
              peer {{ ae_title: "{orthanc.AE_TITLE}" host: "127.0.0.1" port: {pacs_port} tls: true
                     tls_check_host: true }}""",
            config=f'audit {{ file: "{self.audit}" }}',
        )
        service.dicom_port = port
        return service

    def records(self, action):
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [line for line in lines if line["action"] == action]

    def test_orthanc_finds_and_pulls(self):
        support.need("Orthanc", "orthanc")
        pacs_port = process.free_port()
        service = self.tls_service(pacs_port)
        result = self.stream(service)
        files = (self.path("pacs.pem"), self.path("pacs.key"), self.path("ca.pem"))
        pacs = self.orthanc(service, pacs_port, tls=files)
        query, answers = pacs.find_studies(AccessionNumber=support.ACCESSION, StudyInstanceUID="")
        self.assertEqual([a["StudyInstanceUID"] for a in answers], [result["study_instance_uid"]])
        pacs.retrieve(query)
        self.assertEqual(pacs.instance_count(), result["instance_count"])

        (moved,) = self.records("retrieve")
        self.assertEqual(moved["outcome"], "success")
        self.assertEqual(moved["instances"], result["instance_count"])
        self.assertEqual(moved["patient_ids"], [support.PATIENT_ID])
        self.assertEqual(moved["study_uids"], [result["study_instance_uid"]])
        self.assertEqual(moved["destination"], orthanc.AE_TITLE)
        self.assertEqual(moved["certificate"], "CN=pacs")
        (accepted,) = self.records("acquire")
        self.assertEqual(accepted["job_ids"], [result["job_id"]])

    def test_plain_association_is_refused_and_recorded(self):
        service = self.tls_service(process.free_port())
        echoscu = support.need("echoscu", "dcmtk")
        done = process.run([echoscu, "127.0.0.1", str(service.dicom_port)])
        self.assertNotEqual(done.returncode, 0)
        (refused,) = self.records("associate")
        self.assertEqual(refused["outcome"], "refused")


if __name__ == "__main__":
    support.main()
