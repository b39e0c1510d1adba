"""The operator page in a browser, against a mock of the server that has every state at hand."""

import unittest

import page_browser
import support
from page_browser import node


def setUpModule():
    page_browser.start()


class MockTest(unittest.TestCase):
    def test_what_people_do(self):
        done = node("e2e/run.mjs", seconds=2400)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_answers_as_the_types_of_the_page_say(self):
        done = node("e2e/types.mjs", seconds=480)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
