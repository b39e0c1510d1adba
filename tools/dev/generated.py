"""What the programs have in common that write files of the repository from what defines them: PROGRAM [--check].

--check changes nothing and fails when a file is not what the program would write.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_or_check(texts):
    """Does what the command line asks for. `texts`: what each file, by its path, has to be."""
    program = pathlib.Path(sys.argv[0]).name
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(f"usage: {program} [--check]")
    stale = []
    for file, text in texts.items():
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(str(file.relative_to(ROOT)))
    if stale:
        sys.exit(f"{', '.join(stale)}: not as tools/dev/{program} writes it; run that")
