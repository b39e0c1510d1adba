"""The head CT of Debian's package invesalius-examples as a MetaImage."""

import pathlib
import plistlib
import tarfile

from lab import meta_image, process

PROJECT = pathlib.Path("/usr/share/doc/invesalius-examples/examples/Cranium.inv3")
AIR_HU = -1000


def _member(archive, name):
    for entry in archive.getmembers():
        if pathlib.PurePosixPath(entry.name).name == name:
            return archive.extractfile(entry).read()
    raise process.LabError(f"{PROJECT} has no {name}; reinstall the package invesalius-examples")


def write_meta_image(folder, radius_mm):
    """Writes head.mhd and head.raw (int16 HU) to `folder`; returns the path of head.mhd.

    InVesalius keeps rows from posterior to anterior; they are reversed, so that x, y, z run to the patient's left,
    posterior and head (LPS). What lies further than `radius_mm` from the z axis becomes air: parts of the head rest
    leave the scanner's field of view there, and would make every view a truncated one.
    """
    if not PROJECT.exists():
        raise process.LabError(f"{PROJECT} was not found; install it with: ./dev setup demo")
    with tarfile.open(PROJECT) as archive:
        project = plistlib.loads(_member(archive, "main.plist"))
        matrix = project["matrix"]
        samples = memoryview(_member(archive, matrix["filename"])).cast("h")
    nz, ny, nx = matrix["shape"]
    sx, sy, sz = project["spacing"]
    if matrix["dtype"] != "int16" or len(samples) != nx * ny * nz:
        raise process.LabError(f"{PROJECT}: {matrix['dtype']}, {len(samples)} samples; wanted int16, {nx * ny * nz}")

    def inside(j):
        """First and last column of row j, counted in patient order, within the radius."""
        y = (j - (ny - 1) / 2) * sy
        half = max(0.0, radius_mm**2 - y * y) ** 0.5 / sx
        first = max(0, round((nx - 1) / 2 - half))
        return first, max(first, min(nx, nx - first))

    air = memoryview(AIR_HU.to_bytes(2, "little", signed=True) * nx).cast("h")
    columns = [inside(j) for j in range(ny)]
    with open(folder / "head.raw", "wb") as raw:
        for k in range(nz):
            for j in range(ny):
                begin = (k * ny + ny - 1 - j) * nx
                first, last = columns[j]
                raw.write(air[:first])
                raw.write(samples[begin + first : begin + last])
                raw.write(air[last:])
    header = folder / "head.mhd"
    header.write_text(meta_image.header((nx, ny, nz), (sx, sy, sz), "head.raw"))
    return header
