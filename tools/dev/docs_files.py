"""For docs_html.py: files of the repository that are no pages of the documentation, made pages."""

import html
import json
import re

LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "sh"}


def as_markdown(path, title):
    """A folder as a list of what is in it, a notebook as its cells, a text as it is."""
    if path.is_dir():
        return f"# {title}\n\n{_listed(path)}\n"
    if path.suffix == ".ipynb":
        return f"# {title}\n\n{_cells(json.loads(path.read_text()))}\n"
    return f"# {title}\n\n{_fenced(path.read_text(), LANGUAGES.get(path.suffix, 'text'))}\n"


def with_download(path, body):
    """A link to the file itself below the heading of its page, which lies beside it."""
    name = html.escape(path.name)
    return re.sub(r"(</h1>)", lambda end: f'{end[1]}<p><a href="{name}" download>Download {name}</a></p>', body, count=1)


def _listed(folder):
    """Of a tree that may have been built in: without what Python leaves."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return "\n".join(f"- [{file.relative_to(folder)}]({file.relative_to(folder)})" for file in files)


def _cells(notebook):
    return "\n\n".join(
        "".join(cell["source"]) if cell["cell_type"] == "markdown" else _fenced("".join(cell["source"]), "python")
        for cell in notebook["cells"]
    )


def _fenced(text, language):
    """Within more tildes than the text has in a row."""
    fence = "~" * max(3, 1 + max((len(run) for run in re.findall("~+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
