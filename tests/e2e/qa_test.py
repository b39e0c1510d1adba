"""A room's image quality over three scans: accepted, constant, noisier; by jobs and by a DICOM series, over a restart."""

import json
import urllib.request

import support
from lab import isocenter

# A full turn over the phantom "quality"; of pixels of 0.8 mm at the isocentre.
SCAN = ("--phantom", "quality", "--trajectory", "circle", "--arc-deg", 360, "--frames", 240, "--detector", "310x240", "--pitch-mm", 1.232)
GRID = ("--grid", "170x170x150", "--voxel-mm", "1")


class QaTest(support.ServiceTest):
    def scan(self, service, name, photons, seed):
        """The id of a job."""
        bundle = self.folder / name
        isocenter.must("simulate", *SCAN, "--photons", photons, "--seed", seed, "--out", bundle)
        # Without its window, the transfer function is above a half at all frequencies that voxels of 1 mm hold.
        smooth = ("--station", "room1", "--protocol", "fdk_smooth")
        return isocenter.json_of("stream", bundle, "--server", service.grpc, *GRID, *smooth)["job_id"]

    def get(self, address):
        with urllib.request.urlopen(f"http://{address}", timeout=60) as answer:
            return answer.read().decode()

    def quality(self, service):
        return json.loads(isocenter.must("quality", "list", "--json", "--server", service.grpc))

    def test_a_room_is_followed(self):
        service = self.service()
        accepted = self.scan(service, "accepted", 200000, 1)
        report = self.folder / "qa.html"
        first = isocenter.json_of(
            *("qa", "--job", accepted, "--record", "--as-baseline", "--server", service.grpc, "--report", report)
        )
        values = {measure["name"]: measure["value"] for measure in first["measures"]}
        print(json.dumps(values, indent=1), json.dumps(first["unmeasured"], indent=1))
        # What the simulated scanner must have: true HU but for what edges leave, voxels of 1 mm, a grid that is not stretched.
        self.assertAlmostEqual(values["insert_delrin_hu"], 340, delta=15)
        self.assertAlmostEqual(values["linearity_slope"], 1, delta=0.02)
        self.assertLess(values["distance_error_mm"], 0.3)
        self.assertGreater(values["mtf50_edge_per_mm"], 0.15)
        self.assertLess(values["mtf50_edge_per_mm"], 0.6)
        self.assertIn("Modulation transfer", report.read_text())

        # The DICOM series of the job, in the patient's axes, has the same quality but for 16 bits.
        series = self.folder / "series"
        isocenter.must("fetch", accepted, "--out", series, "--server", service.grpc)
        of_series = isocenter.json_of("qa", series)
        again = {measure["name"]: measure["value"] for measure in of_series["measures"]}
        for name in ("noise_hu", "mtf50_edge_per_mm", "insert_teflon_hu", "detectability_5mm"):
            self.assertAlmostEqual(again[name], values[name], delta=0.02 * abs(values[name]) + 0.02, msg=name)

        # What is mistyped is not kept; of a room that was never heard of it is said.
        typo = isocenter.call("qa", series, "--record", "--station", "room1", "--protocol", "fdk_smoth", "--server", service.grpc)
        self.assertEqual(typo.returncode, 5, typo.stdout)
        self.assertIn("did you mean fdk_smooth?", typo.stderr)
        figure = isocenter.call("quality", "list", "--measure", "noise_hi", "--server", service.grpc)
        self.assertEqual(figure.returncode, 4, figure.stdout)
        self.assertIn("did you mean noise_hu?", figure.stderr)
        other = ("--station", "rom1", "--protocol", "fdk_smooth")
        first_of_room = isocenter.must("qa", series, "--record", *other, "--server", service.grpc)
        self.assertIn("it is the first record of rom1; did you mean room1?", first_of_room)

        constant = self.scan(service, "constant", 200000, 2)
        done = isocenter.call("qa", "--job", constant, "--record", "--server", service.grpc)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        noisy = self.scan(service, "noisy", 50000, 3)
        done = isocenter.call("qa", "--job", noisy, "--record", "--server", service.grpc)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("noise_hu", done.stderr)
        # The baseline's own frames are no test of it, and a slip does not change what the room is held against.
        own = isocenter.call("qa", "--job", accepted, "--record", "--server", service.grpc)
        self.assertEqual(own.returncode, 5, own.stdout)
        self.assertIn("it is of the same frames", own.stderr)
        slip = isocenter.call("qa", "--job", noisy, "--record", "--as-baseline", "--server", service.grpc)
        self.assertEqual(slip.returncode, 1, slip.stdout)
        self.assertIn("--replaces ID names the one", slip.stderr)

        service.kill()
        service.start()
        results = [result for result in self.quality(service) if result.get("station_name") == "room1"]
        self.assertEqual([result["job_id"] for result in results], [noisy, constant, accepted])
        self.assertIn("noise_hu", results[0]["not_passed"])
        self.assertEqual([result["verdict"] for result in results[1:]], ["passed", "baseline"])
        deviation = [
            float(line.split()[-1])
            for line in self.get(f"{service.metrics}/metrics").splitlines()
            if line.startswith("isocenter_quality_deviation{") and 'measure="noise_hu"' in line and 'station="room1"' in line
        ]
        self.assertGreater(deviation[0], 1)
        shown = json.loads(self.get(f"{service.web}/api/v1/quality?station=room1"))["results"]
        self.assertEqual([result["passed"] for result in shown], [False, True, None])
        # How it was made is the server's own knowledge of the job.
        told = shown[0]["conditions"]
        self.assertEqual(told["voxel_mm"], [1, 1, 1])
        self.assertTrue(told["frames"].startswith("job "), told)
        self.assertTrue(told["filter"] and told["calibration"] and told["acquired_time"], told)
        self.assertEqual(shown[0]["changed_conditions"], [])
        self.assertNotEqual(told["frames"], shown[1]["conditions"]["frames"])


if __name__ == "__main__":
    support.main()
