"""What the documentation tells its readers to do and to expect, read out of its pages."""

import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def section(page, heading):
    """The text from a heading to the next one of its rank; AssertionError where there is none."""
    text = (DOCS / page).read_text()
    found = re.search(rf"(?m)^(#+) {re.escape(heading)}$", text)
    assert found, f"{page} has no section '{heading}'"
    rest = text[found.end() :]
    # Comments in blocks of shell commands look like headings.
    outside = re.sub(r"(?ms)^```.*?^```$", lambda block: re.sub(r"(?m)^#", "~", block[0]), rest)
    end = re.search(rf"(?m)^#{{1,{len(found[1])}}} ", outside)
    return rest[: end.start()] if end else rest


def blocks(text, language):
    """The fenced blocks in a language, in their order."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def messages():
    """[(regular expression, the row)] of all messages that the page of troubleshooting explains."""
    found = []
    for row in (DOCS / "troubleshooting.md").read_text().splitlines():
        if not row.startswith("| `"):
            continue
        for message in re.findall(r"`([^`]+)`", row.split(" | ")[0]):
            pieces = [re.escape(piece) for piece in message.split("…")]
            # Most of a message is its words: one that is nearly all values would explain everything.
            if len(message.replace("…", "")) > 12:
                found.append((re.compile(".*".join(pieces)), row))
    return found


def explanations(text):
    """The rows whose message is in the text."""
    return [row for pattern, row in messages() if any(pattern.search(line) for line in text.splitlines())]
