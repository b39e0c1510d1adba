"""The operator page in a browser: what its tests need of the machine, one browser for all of a file's tests, the programs in web/e2e."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support
from lab import process

WEB = support.ROOT / "web"


def start():
    """For setUpModule: skips the file's tests where the page cannot be tested, else starts a browser for them."""
    for tool, package in (("node", "nodejs"), ("chromium", "chromium")):
        if shutil.which(tool) is None:
            raise unittest.SkipTest(f"{tool} is not on this machine (package {package})")
    if not (WEB / "dist" / "index.html").exists() or not (WEB / "node_modules" / "playwright-core").exists():
        raise unittest.SkipTest("the operator page is not built: ./dev page")
    folder = tempfile.TemporaryDirectory(prefix="isocenter-e2e-")
    unittest.addModuleCleanup(folder.cleanup)
    browser = process.Process(["node", WEB / "e2e" / "browser_server.mjs"], pathlib.Path(folder.name) / "browser.log")
    unittest.addModuleCleanup(browser.stop)
    browser.wait_for(lambda: "\n" in browser.output(), 120, "its address")
    os.environ["ISOCENTER_PAGE_BROWSER"] = browser.output().splitlines()[0]
    unittest.addModuleCleanup(os.environ.pop, "ISOCENTER_PAGE_BROWSER")


def node(*argv, seconds=240):
    return subprocess.run(["node", *map(str, argv)], cwd=WEB, capture_output=True, text=True, timeout=seconds, check=False)
