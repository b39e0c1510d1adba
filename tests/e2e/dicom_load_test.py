"""Many associations at once, each querying, pulling by C-GET and moving: no error, and memory that stays flat.

A campaign: `./dev test --fault -R dicom_load`; ISOCENTER_LOAD_SECONDS (300) and ISOCENTER_LOAD_ASSOCIATIONS (32) set it.
"""

import os
import re
import threading
import time
import urllib.request

import support
from lab import orthanc, process

SECONDS = int(os.environ.get("ISOCENTER_LOAD_SECONDS", "300"))
ASSOCIATIONS = int(os.environ.get("ISOCENTER_LOAD_ASSOCIATIONS", "32"))
# From the end of the first quarter, when every thread has had its share of the allocator, to the end.
GROWTH_BYTES = 32 << 20
SINK = "SINK"  # takes instances from many associations at once and throws them away


class DicomLoadTest(support.ServiceTest):
    def resident_bytes(self, service):
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return float(re.search(r"^process_resident_memory_bytes (\S+)", text, re.MULTILINE)[1])

    def test_associations_at_once(self):
        tools = {name: support.need(name, "dcmtk") for name in ("findscu", "getscu", "movescu")}
        storescp = support.need("storescp", "dcmtk")
        support.need("Orthanc", "orthanc")
        pacs_port, sink_port = process.free_port(), process.free_port()
        # A tool may be rejected for the moment in which its forerunner's association ends.
        service = self.service(
            peers=[(orthanc.AE_TITLE, pacs_port), (SINK, sink_port)], dicom=f"max_associations: {2 * ASSOCIATIONS} max_associations_per_address: {2 * ASSOCIATIONS}"
        )
        result = self.stream(service)
        self.orthanc(service, pacs_port)
        self.background([storescp, "--fork", "--ignore", "-aet", SINK, sink_port], "sink")
        study = f"StudyInstanceUID={result['study_instance_uid']}"
        node = ("127.0.0.1", str(service.dicom_port))
        level = ("-S", "-k", "QueryRetrieveLevel=STUDY", "-k", study)
        end = time.monotonic() + SECONDS
        failures, counts = [], dict.fromkeys(tools, 0)
        lock = threading.Lock()

        def one(number, turn):
            if turn % 8 == 7:  # only one to Orthanc, which would be what all of them wait for
                name, more = "movescu", ("-v", "-aem", SINK if number else orthanc.AE_TITLE)
            elif turn % 4 == 3:
                name, more = "getscu", ("+B", "-od", str(self.folder / f"got{number}"))
            else:
                name, more = "findscu", ()
            done = process.run([tools[name], *level, *more, *node], seconds=300)
            ok = done.returncode == 0
            if name == "findscu":
                ok = ok and "Find Response: 1" in done.stdout + done.stderr
            elif name == "movescu":  # its exit code says nothing of instances that failed
                ok = ok and "Final Move Response (Success" in done.stdout + done.stderr
            with lock:
                counts[name] += 1
                if not ok:
                    failures.append(f"{name}: {done.returncode} {done.stdout[-300:]} {done.stderr[-300:]}")

        def client(number):
            (self.folder / f"got{number}").mkdir()
            turn = number
            while time.monotonic() < end and not failures:
                one(number, turn)
                turn += 1

        threads = [threading.Thread(target=client, args=(number,)) for number in range(ASSOCIATIONS)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS / 4)
        before = self.resident_bytes(service)
        for thread in threads:
            thread.join()
        after = self.resident_bytes(service)
        print(f"{counts}, resident {before / 2**20:.0f} MiB after a quarter, {after / 2**20:.0f} MiB at the end")
        self.assertEqual(failures, [])
        self.assertLess(after - before, GROWTH_BYTES)


if __name__ == "__main__":
    support.main()
