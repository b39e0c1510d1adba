#!/usr/bin/env python3
"""Holds the wire contract against the conventions of CONTRIBUTING.md: proto_lint.py FILE.proto.."""

import re
import sys

# Where a name says what is measured, it must end in the unit.
MEASURES = re.compile(r"(^|_)(angle|arc|distance|spacing|pitch|duration|timeout|latency|size|length)$")
FIELD = re.compile(r"^\s*(?:repeated\s+|optional\s+)?([\w.]+)\s+(\w+)\s*=\s*(\d+)[^;]*;")
ENUM_VALUE = re.compile(r"^\s*(\w+)\s*=\s*(-?\d+)\s*;")
OPEN = re.compile(r"^\s*(message|enum|service|oneof)\s+(\w+)[^{]*\{(\s*\})?")


def upper_snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def lint(path):
    complaints, blocks, commented = [], [], False
    numbers = {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if 'syntax = "proto3";' not in lines:
        complaints.append((1, 'wants syntax = "proto3"'))
    if "package isocenter.v1;" not in lines:
        complaints.append((1, "wants package isocenter.v1"))
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("//"):
            commented = True
            continue
        opened = OPEN.match(line)
        inside = blocks[-1] if blocks else ("", "")
        if opened:
            kind, name = opened[1], opened[2]
            if kind == "service" and not name.endswith("Service"):
                complaints.append((number, f"service {name} wants to end in Service"))
            if not opened[3]:
                blocks.append((kind, name))
                if kind != "oneof":
                    numbers[name] = set()
                if kind == "enum":
                    first = True
        elif line.strip() == "}":
            blocks.pop()
        elif inside[0] == "enum" and (value := ENUM_VALUE.match(line)):
            prefix = upper_snake(inside[1]) + "_"
            if not value[1].startswith(prefix):
                complaints.append((number, f"{value[1]} wants the prefix {prefix}"))
            if first and (value[1], value[2]) != (prefix + "UNSPECIFIED", "0"):
                complaints.append((number, f"the first value of {inside[1]} wants to be {prefix}UNSPECIFIED = 0"))
            first = False
        elif inside[0] == "service" and line.strip().startswith("rpc"):
            if not commented:
                complaints.append((number, "an rpc wants a comment with its errors"))
        elif inside[0] in ("message", "oneof") and (field := FIELD.match(line)):
            if not re.fullmatch(r"[a-z][a-z0-9_]*", field[2]):
                complaints.append((number, f"field {field[2]} wants lower_snake_case"))
            if field[1] in ("double", "float") and MEASURES.search(field[2]):
                complaints.append((number, f"field {field[2]} wants its unit in its name"))
            message = [name for kind, name in blocks if kind == "message"][-1]
            if field[3] in numbers[message]:
                complaints.append((number, f"number {field[3]} is used twice"))
            numbers[message].add(field[3])
        commented = False
    return [f"{path}:{number}: {text}" for number, text in complaints]


def main():
    complaints = [text for path in sys.argv[1:] for text in lint(path)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
