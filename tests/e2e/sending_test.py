"""Results go to Orthanc by themselves, which commits itself to keeping them; whatever happens on the way."""

import json
import random
import signal
import time
import urllib.request

import support
from lab import certificates, isocenter, orthanc, process

FAST = "first_retry_seconds: 0.1 longest_retry_seconds: 1"
CT_ONLY = """
[[TransferSyntaxes]]
[Uncompressed]
TransferSyntax1 = LittleEndianExplicit
TransferSyntax2 = LittleEndianImplicit
[[PresentationContexts]]
[Images]
PresentationContext1 = CTImageStorage\\Uncompressed
[[Profiles]]
[Default]
PresentationContexts = Images
"""


class SendingTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        support.need("Orthanc", "orthanc")
        self.pacs_port = process.free_port()

    def sender(self, fields=""):
        return self.service(
            peers=[(orthanc.AE_TITLE, self.pacs_port)],
            destinations=[f'ae_title: "{orthanc.AE_TITLE}" {FAST} {fields}'],
        )

    def transfers(self, service, *options):
        return json.loads(isocenter.must("transfers", "--server", service.grpc, "--json", *options))

    def await_done(self, service, jobs, seconds=240):
        def all_done():
            found = self.transfers(service)
            return len(found) == jobs and all(transfer["done"] for transfer in found)

        try:
            process.wait_until(all_done, seconds, "all transfers done")
        except process.LabError as error:
            found = json.dumps(self.transfers(service), indent=1)
            raise process.LabError(f"{error}\n{found}\n{service.process.output()[-3000:]}") from None

    def stored_uids(self, pacs):
        return sorted(
            pacs.get(f"/instances/{instance}")["MainDicomTags"]["SOPInstanceUID"]
            for instance in pacs.get("/instances")
        )

    def test_committed_and_then_deleted(self):
        service = self.sender("storage_commitment: true")
        pacs = self.orthanc(service, self.pacs_port)
        result = self.stream(service)
        self.await_done(service, 1)
        (transfer,) = self.transfers(service)
        self.assertEqual(transfer["state"], "committed")
        self.assertEqual(transfer["committed_count"], result["instance_count"])
        self.assertEqual(pacs.instance_count(), result["instance_count"])
        isocenter.must("delete", result["job_id"], "--server", service.grpc)
        self.assertEqual(self.transfers(service), [])

    def test_kept_until_the_destination_has_it(self):
        service = self.sender()
        result = self.stream(service)
        done = isocenter.call("delete", result["job_id"], "--server", service.grpc)
        self.assertEqual(done.returncode, 5)
        self.assertIn("ORTHANC has not confirmed to have received 65 of 65", done.stderr)
        # The first attempt may be under way.
        reason = process.wait_until(lambda: self.transfers(service)[0].get("reason"), 120, "a reason why it waits")
        self.assertIn("cannot associate", reason)
        (destination,) = isocenter.json_of("destinations", "--server", service.grpc)
        self.assertEqual((destination["name"], destination["state"]), (orthanc.AE_TITLE, "failing"))
        self.assertEqual(destination["address"], f"127.0.0.1:{self.pacs_port}")
        self.assertIn("cannot associate", destination["reason"])
        isocenter.must("delete", result["job_id"], "--server", service.grpc, "--force")

    def test_on_request(self):
        service = self.sender("on_request_only: true max_associations: 3")
        pacs = self.orthanc(service, self.pacs_port)
        result = self.stream(service)
        self.assertEqual(self.transfers(service), [])
        self.assertIn("not tried", isocenter.must("destinations", "--server", service.grpc))
        isocenter.must("send", result["job_id"], "--to", orthanc.AE_TITLE, "--server", service.grpc)
        isocenter.must("transfers", "--watch", "--server", service.grpc)
        self.assertEqual(pacs.instance_count(), result["instance_count"])
        (destination,) = isocenter.json_of("destinations", "--server", service.grpc)
        self.assertEqual((destination["state"], destination["queued_count"]), ("reached", 0))
        # What is sent is sent once, unless the destination has lost it.
        at = ("--to", orthanc.AE_TITLE, "--server", service.grpc)
        sent = isocenter.json_of("send", result["job_id"], *at)
        self.assertEqual((sent["newly_queued_count"], sent["state"]), (0, "sent"))
        pacs.delete_all()
        day = time.strftime("%Y%m%d")
        (series,) = isocenter.json_of("send", "--date", day, "--again", *at)["series"]
        self.assertEqual(series["newly_queued_count"], result["instance_count"])
        self.assertEqual(series["series_instance_uid"], result["series_instance_uid"])
        isocenter.must("transfers", "--watch", "--server", service.grpc)
        self.assertEqual(pacs.instance_count(), result["instance_count"])
        done = isocenter.call("send", result["job_id"], "--to", "NOBODY", "--server", service.grpc)
        self.assertEqual(done.returncode, 4)
        self.assertIn(orthanc.AE_TITLE, done.stderr)

    def test_committed_over_tls(self):
        """Both directions speak TLS with certificates that are checked; there is no plain port."""
        tls = certificates.Authority(self.folder)
        node, pacs_files = tls.certificate("node"), tls.certificate("pacs")
        port = process.free_port()
        service = self.service(
            dicom=f"""tls_only: true tls_port: {port}
              tls {{ certificate_file: "{node.certificate}" private_key_file: "{node.key}" ca_file: "{tls.file}" }}
              peer {{ ae_title: "{orthanc.AE_TITLE}" host: "127.0.0.1" port: {self.pacs_port} tls: true
                     tls_check_host: true }}""",
            destinations=[f'ae_title: "{orthanc.AE_TITLE}" {FAST} storage_commitment: true max_associations: 2'],
        )
        service.dicom_port = port
        pacs = self.orthanc(service, self.pacs_port, tls=(pacs_files.certificate, pacs_files.key, tls.file))
        result = self.stream(service)
        self.await_done(service, 1)
        self.assertEqual(self.transfers(service)[0]["committed_count"], result["instance_count"])
        self.assertEqual(pacs.instance_count(), result["instance_count"])

    def test_a_destination_that_takes_ct_images_only(self):
        """DCMTK's storescp, configured to know no other class, gets them; the multi-frame object is no failure."""
        config = self.folder / "storescp.cfg"
        config.write_text(CT_ONLY)
        received = self.folder / "received"
        received.mkdir()
        scp = self.background(
            [support.need("storescp", "dcmtk"), "-xf", config, "Default", "-od", received, "-aet", "VIEWER", self.pacs_port],
            "storescp",
        )
        scp.wait_for(lambda: process.listens(self.pacs_port), 60, "it listens")
        service = self.service(peers=[("VIEWER", self.pacs_port)], destinations=[f'ae_title: "VIEWER" {FAST}'])
        result = self.stream(service)
        self.await_done(service, 1)
        (transfer,) = self.transfers(service)
        self.assertEqual((transfer["state"], transfer["failed_count"]), ("sent", 0))
        self.assertEqual((transfer["sent_count"], transfer["skipped_count"]), (support.SLICES, 1))
        self.assertIn("XRay3DAngiographicImageStorage", transfer["reason"])
        self.assertEqual(len(list(received.iterdir())), support.SLICES)
        isocenter.must("delete", result["job_id"], "--server", service.grpc)

    def test_pacs_is_killed_while_it_receives(self):
        """What a PACS has lost by a kill -9, it does not commit itself to: it is sent again."""
        service = self.sender("storage_commitment: true commitment_seconds: 2")
        pacs = self.orthanc(service, self.pacs_port)
        count = 0
        for _ in range(2):
            expected = count + random.randint(1, support.INSTANCES - 1)
            count += self.stream(service)["instance_count"]
            process.wait_until(lambda least=expected: pacs.instance_count() >= least, 120, f"{expected} instances in Orthanc")
            pacs.process.signal(signal.SIGKILL)
            pacs.process.wait(60)
            pacs.start()
        self.await_done(service, 2)
        self.assertEqual({t["state"] for t in self.transfers(service)}, {"committed"})
        uids = self.stored_uids(pacs)
        self.assertEqual((len(uids), len(set(uids))), (count, count))

    def test_pacs_down_and_two_kills(self):
        """Results of several jobs wait for a PACS that is down, and get through two kills while they are sent."""
        service = self.sender("storage_commitment: true")
        jobs = [self.stream(service) for _ in range(3)]
        count = sum(job["instance_count"] for job in jobs)
        self.assertTrue(all(t["queued_count"] == jobs[0]["instance_count"] for t in self.transfers(service)))
        service.kill()  # once while nothing can be sent
        service.start()
        self.assertTrue(all(t["queued_count"] == jobs[0]["instance_count"] for t in self.transfers(service)))
        pacs = self.orthanc(service, self.pacs_port)
        moment = random.randint(1, count - 1)  # and once on the way
        process.wait_until(lambda: pacs.instance_count() >= moment, 120, f"{moment} instances in Orthanc")
        service.kill()
        service.start()
        self.await_done(service, len(jobs))
        self.assertEqual({t["state"] for t in self.transfers(service)}, {"committed"})
        uids = self.stored_uids(pacs)
        self.assertEqual(len(uids), count)
        self.assertEqual(len(set(uids)), count)
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=60) as answer:
            page = answer.read().decode()
        self.assertIn(f'isocenter_dicom_queue{{destination="ORTHANC",state="committed"}} {count}', page)
        self.assertIn('isocenter_dicom_queue_oldest_seconds{destination="ORTHANC"} 0', page)


if __name__ == "__main__":
    support.main()
