"""The image from sources, as whoever clones the project builds it. Its build stage fetches packages: this test has a network."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import debian_root
import image

# What was compiled before is not compiled again.
CCACHE = debian_root.ROOT / "build/image-ccache"


def authorities(folder):
    """Where the network has an authority of its own, npm in the build stage must know it, too."""
    file = os.environ.get("NODE_EXTRA_CA_CERTS")
    if not file:
        return []
    inside = "/etc/extra-authorities.pem"
    (folder / "npmrc").write_text(f"cafile={inside}\n")
    return ["--volume", f"{file}:{inside}:ro", "--volume", f"{folder}/npmrc:/root/.npmrc:ro"]


class ImageSourcesTest(unittest.TestCase):
    def test_built_and_serving(self):
        CCACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="isocenter-sources-") as name:
            folder = pathlib.Path(name)
            sources = folder / "sources"
            sources.mkdir()
            # What is in the repository, and nothing that this checkout has besides.
            done = subprocess.run(
                f'git ls-files -z | xargs -0 cp --parents -t "{sources}"',
                shell=True, cwd=debian_root.ROOT, capture_output=True, text=True, check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            made = image.Image(sources, "--volume", f"{CCACHE}:/root/.cache/ccache", *authorities(folder))
        self.addCleanup(made.remove)
        out = made.run(
            """
            cd /var/lib/isocenter
            isocenterd --check --archive /var/lib/isocenter/archive
            isocenterd --archive /var/lib/isocenter/archive >log 2>&1 & daemon=$!
            for i in $(seq 300); do ! isocenter health 2>/dev/null || break; sleep 0.2; done
            isocenter health
            kill -TERM $daemon
            wait $daemon
            ls /opt/isocenter/share/isocenter/web/index.html /opt/isocenter/share/isocenter/web/docs/index.html
            ! command -v cc
            """
        )
        self.assertIn("serving", out)
        self.assertIn("web/index.html", out)
        packages = json.loads(made.run("cat /opt/isocenter/image.spdx.json"))["packages"]
        self.assertNotIn("g++", [package["name"] for package in packages], "the build stage is not in the image")


if __name__ == "__main__":
    unittest.main(verbosity=2)
