#!/usr/bin/env python3
"""Writes docs/configuration-reference.md from the comments of the configuration's definition: config_reference.py [--check].

protoc parses server_config.proto and what it imports; this program prints ServerConfig and all that can be reached from
it.
"""

import subprocess

import generated

ROOT = generated.ROOT
PAGE = ROOT / "docs/configuration-reference.md"
SCHEMA = "isocenter/v1/server_config.proto"
TOP = ".isocenter.v1.ServerConfig"
HEAD = """\
# Configuration reference

Every field of the file that `isocenterd --config FILE` reads, in Protobuf text format. [configuration.md](configuration.md)
explains how to use it, and which flags win over it. This page is generated from the comments in
[proto/isocenter/v1](../proto/isocenter/v1) by `tools/dev/config_reference.py`; change them there.
"""

# Numbers of google/protobuf/descriptor.proto.
SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}
MESSAGE, ENUM, REPEATED = 11, 14, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """{field number: [values]} of an encoded message: bytes where they are length-delimited, else numbers."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            length = {1: 8, 5: 4}[key & 7]
            value, at = data[at : at + length], at + length
        found.setdefault(key >> 3, []).append(value)
    return found


def text(message, number):
    return message.get(number, [b""])[0].decode()


def comments_of(file):
    """{path in the file: comment}"""
    comments = {}
    for encoded in fields(file.get(9, [b""])[0]).get(1, []):
        location = fields(encoded)
        path, packed, at = [], location.get(1, [b""])[0], 0
        while at < len(packed):
            step, at = varint(packed, at)
            path.append(step)
        words = (text(location, 3) + text(location, 4)).split()
        comments[tuple(path)] = " ".join(words).replace("|", "\\|")
    return comments


def read_types():
    """({name: message}, {name: enum}); a message is (comment, [(field, type, type name or None, comment)])."""
    encoded = subprocess.run(
        ["protoc", f"-I{ROOT / 'proto'}", "--include_imports", "--include_source_info", "--descriptor_set_out=/dev/stdout", SCHEMA],
        check=True, stdout=subprocess.PIPE,
    ).stdout
    messages, enums = {}, {}
    for encoded_file in fields(encoded)[1]:
        file = fields(encoded_file)
        comments = comments_of(file)
        prefix = f".{text(file, 2)}."

        def add_enum(encoded_enum, prefix, path):
            enum = fields(encoded_enum)
            values = [
                (text(fields(value), 1), comments.get((*path, 2, i), "")) for i, value in enumerate(enum.get(2, []))
            ]
            enums[prefix + text(enum, 1)] = (comments.get(path, ""), values)

        def add_message(encoded_message, prefix, path):
            message = fields(encoded_message)
            name = prefix + text(message, 1)
            rows = []
            for i, encoded_field in enumerate(message.get(2, [])):
                field = fields(encoded_field)
                kind = field[5][0]
                other = text(field, 6) if kind in (MESSAGE, ENUM) else None
                shown = other.rsplit(".", 1)[1] if other else SCALARS[kind]
                if field[4][0] == REPEATED:
                    shown = f"repeated {shown}"
                comment = comments.get((*path, 2, i), "")
                # A real oneof; a field that is `optional` has one of its own that is not.
                if 9 in field and 17 not in field:
                    comment = f"One of the fields of `{text(fields(message[8][field[9][0]]), 1)}`. {comment}".strip()
                rows.append((text(field, 1), shown, other, comment))
            messages[name] = (comments.get(path, ""), rows)
            for i, nested in enumerate(message.get(3, [])):
                add_message(nested, f"{name}.", (*path, 3, i))
            for i, nested in enumerate(message.get(4, [])):
                add_enum(nested, f"{name}.", (*path, 4, i))

        for i, encoded_message in enumerate(file.get(4, [])):
            add_message(encoded_message, prefix, (4, i))
        for i, encoded_enum in enumerate(file.get(5, [])):
            add_enum(encoded_enum, prefix, (5, i))
    return messages, enums


def page():
    messages, enums = read_types()
    order, used_in = [TOP], {}
    for name in order:  # grows on the way
        for field, _, other, _ in messages.get(name, ("", []))[1]:
            if other:
                used_in.setdefault(other, []).append(f"`{field}` of {name.rsplit('.', 1)[1]}")
                if other not in order:
                    order.append(other)
    lines = [HEAD]
    for name in order:
        short = name.rsplit(".", 1)[1]
        lines.append(f"## {short}\n")
        if name in used_in:
            lines.append(f"{', '.join(used_in[name])}.\n")
        comment, rows = messages.get(name) or enums[name]
        if comment:
            lines.append(comment + "\n")
        if name in messages:
            lines.append("| field | type | meaning |\n|---|---|---|")
            for field, shown, other, meaning in rows:
                link = f"[{shown}](#{other.rsplit('.', 1)[1].lower()})" if other else shown
                lines.append(f"| `{field}` | {link} | {meaning} |")
        else:
            lines.append("| value | meaning |\n|---|---|")
            lines.extend(f"| `{value}` | {meaning} |" for value, meaning in rows)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main():
    generated.write_or_check({PAGE: page()})


if __name__ == "__main__":
    main()
