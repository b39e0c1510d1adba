"""Headers of MetaImages (.mhd, .mha) of int16 HU whose middle is the isocentre."""


def header(shape, spacing, data_file):
    """The lines of a header for voxels [z][y][x], little-endian; `data_file`: its name, LOCAL where they follow."""
    offset = [-(n - 1) / 2 * step for n, step in zip(shape, spacing, strict=True)]

    def words(values):
        return " ".join(str(value) for value in values)

    return (
        "ObjectType = Image\nNDims = 3\n"
        f"DimSize = {words(shape)}\nElementSpacing = {words(spacing)}\nOffset = {words(offset)}\n"
        "TransformMatrix = 1 0 0 0 1 0 0 0 1\n"
        f"ElementType = MET_SHORT\nElementByteOrderMSB = False\nElementDataFile = {data_file}\n"
    )
