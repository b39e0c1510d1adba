// What stands before the voxels of a volume's file: for server and client.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::volume_file {

/// The text of a MetaImage of float32 voxels, [z][y][x], little-endian. `data_file`: "LOCAL" where
/// they follow the text (.mha), else the name of the file that has them (.mhd).
/// docs/formats/metaimage.md.
std::string MetaImageText(const VolumeGrid& grid, absl::string_view data_file);

/// The 348 bytes of a NIfTI-1 header of float32 voxels in this machine's byte order, which readers
/// find out, and the four that say that no extension follows; the voxels are next. The grid becomes
/// the sform, of scanner coordinates, in NIfTI's RAS axes. docs/formats/nifti.md.
std::string NiftiHeader(const VolumeGrid& grid);

}  // namespace isocenter::volume_file
