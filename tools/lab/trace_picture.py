#!/usr/bin/env python3
"""Draws traces (isocenter trace, isocenter-bench reconstruct --trace) as a PNG, below each other and to one scale: a band for
each device with a line each for uploads, kernels and downloads; a grey rule every 10 or 100 ms."""

import json
import struct
import sys
import zlib

COLOURS = {
    "upload": (70, 130, 180),
    "preprocess": (150, 150, 150),
    "filter": (240, 170, 40),
    "backproject": (60, 160, 80),
    "hounsfield": (200, 60, 60),
    "download": (130, 80, 170),
}
WIDTH, MARGIN, LINE, GAP = 1200, 10, 26, 6


def write_png(path, rows):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    raw = b"".join(b"\0" + bytes(row) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def read_bands(paths):
    """The spans of each device of each trace."""
    bands = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            spans = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        for device in sorted({span["pid"] for span in spans}):
            bands.append([span for span in spans if span["pid"] == device])
    return bands


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: trace_picture.py TRACE.json [TRACE.json..] PICTURE.png")
    bands = read_bands(sys.argv[1:-1])
    end = max(span["ts"] + span["dur"] for band in bands for span in band)
    height = 2 * MARGIN + len(bands) * (3 * LINE + GAP) + (len(bands) - 1) * GAP
    rows = [bytearray(b"\xff" * (3 * WIDTH)) for _ in range(height)]
    scale = (WIDTH - 2 * MARGIN) / end

    def fill(x0, x1, y0, y1, colour):
        first, last = int(x0), max(int(x0) + 1, int(x1))
        for y in range(y0, y1):
            rows[y][3 * first : 3 * last] = bytes(colour) * (last - first)

    step = 1e5 if end > 1e6 / 2 else 1e4
    for i in range(int(end / step) + 1):
        x = MARGIN + i * step * scale
        fill(x, x + 1, 0, height, (220, 220, 220))
    for index, band in enumerate(bands):
        for span in band:
            top = MARGIN + index * (3 * LINE + 2 * GAP) + (span["tid"] - 1) * LINE
            x = MARGIN + span["ts"] * scale
            fill(x, x + span["dur"] * scale, top + 2, top + LINE - 2, COLOURS[span["name"]])
    write_png(sys.argv[-1], rows)


if __name__ == "__main__":
    main()
