"""The image with the programs that `./dev package` has left, run through the main job as its user."""

import json
import re
import unittest

import debian_root
import image
from lab import process

# Where anybody may write in any image, and what the kernel shows.
SHARED = re.compile(r"/(dev|proc|sys|tmp|var/tmp|run/lock|var/lib/isocenter)(/|$)")


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not list((debian_root.ROOT / "dist").glob("isocenter-*.tar.gz")):
            raise process.LabError("dist/ has no package; make it with: ./dev package")
        cls.image = image.Image(
            debian_root.ROOT, "--build-arg", "PACKAGE_FROM=prebuilt", "--build-arg", "VERSION=1.2.3"
        )
        cls.addClassCleanup(cls.image.remove)

    def config(self):
        return json.loads(self.image.inspect())["Docker"]["config"]

    def test_what_it_declares(self):
        config = self.config()
        self.assertEqual(config["User"], "10001:10001")
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "isocenter", "health"])
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], "1.2.3")
        self.assertEqual(list(config["Volumes"]), ["/var/lib/isocenter"])
        self.assertEqual(config["StopSignal"], "SIGTERM")

    def test_main_job(self):
        command = " ".join(self.config()["Entrypoint"] + self.config()["Cmd"])
        # The addresses are the image's; the network of the test has nothing but loopback.
        out = self.image.run(
            f"""
            cd /var/lib/isocenter
            ! isocenter health
            {command} >log 2>&1 & daemon=$!
            for i in $(seq 300); do ! isocenter health 2>/dev/null || break; sleep 0.2; done
            isocenter health
            cd /tmp
            isocenter simulate --phantom head --out head --frames 60 --detector 78x60 --pitch-mm 4.9
            isocenter stream head --grid 32x32x32 --voxel-mm 6 --json result.json
            job=$(sed -n 's/.*"job_id": "\\(.*\\)".*/\\1/p' result.json)
            isocenter fetch $job --format dicom --out series
            ls series | wc -l
            kill -TERM $daemon
            wait $daemon
            echo drained
            """
        )
        self.assertIn("serving", out)
        # The slices, and the volume as one object.
        self.assertIn("\n33\n", out)
        self.assertTrue(out.endswith("drained\n"), out)

    def test_it_can_write_nowhere_else(self):
        self.assertEqual(self.image.run("id -u").strip(), "10001")
        found = self.image.run("find / -xdev -writable ! -type l 2>/dev/null || true").splitlines()
        self.assertEqual([path for path in found if not SHARED.match(path)], [])

    def test_it_says_what_is_in_it(self):
        base = json.loads(self.image.run("cat /opt/isocenter/image.spdx.json"))
        names = {p["name"] for p in base["packages"]}
        self.assertLessEqual({"libc6", "dpkg", "bash"}, names)
        installed = self.image.run("dpkg-query -W -f '${Package}\\n'").split()
        self.assertEqual(names, set(installed))
        own = json.loads(self.image.run("cat /opt/isocenter/sbom.spdx.json"))
        self.assertTrue(any(p["name"].startswith("libprotobuf32") for p in own["packages"]), own["packages"])
        for document in (base, own):
            self.assertEqual(document["spdxVersion"], "SPDX-2.3")
            identifiers = [p["SPDXID"] for p in document["packages"]]
            self.assertEqual(len(identifiers), len(set(identifiers)))
            for identifier in identifiers:
                self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
