"""DICOM over TLS: Debian's Orthanc finds and pulls with both sides' certificates checked; the audit trail tells of it."""

import json

import support
from lab import certificates, orthanc, process


class DicomTlsTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        support.need("openssl", "openssl")
        self.authority = certificates.Authority(self.folder)
        self.node, self.pacs = (self.authority.certificate(name) for name in ("node", "pacs"))
        self.audit = self.folder / "audit.jsonl"

    def tls_service(self, pacs_port):
        """A service without a plain DICOM port; `dicom_port` is that of TLS."""
        port = process.free_port()
        service = self.service(
            dicom=f"""tls_only: true tls_port: {port}
              tls {{ certificate_file: "{self.node.certificate}" private_key_file: "{self.node.key}"
                    ca_file: "{self.authority.file}" }}
              peer {{ ae_title: "{orthanc.AE_TITLE}" host: "127.0.0.1" port: {pacs_port} tls: true
                     tls_check_host: true }}""",
            config=f'audit {{ file: "{self.audit}" }}',
        )
        service.dicom_port = port
        return service

    def records(self, action):
        """Those of an action, of which there is one at least: a peer has its last answer before the record is written."""

        def found():
            whole_lines = self.audit.read_text().rpartition("\n")[0].splitlines()
            return [record for record in map(json.loads, whole_lines) if record["action"] == action]

        return process.wait_until(found, 60, f"a record of '{action}'")

    def test_orthanc_finds_and_pulls(self):
        support.need("Orthanc", "orthanc")
        pacs_port = process.free_port()
        service = self.tls_service(pacs_port)
        result = self.stream(service)
        files = (self.pacs.certificate, self.pacs.key, self.authority.file)
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
