// What stands before the voxels of a volume's file: for server and client.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::volume_file {

/// Keys of a MetaImage's header that tell where its numbers come from. docs/formats/metaimage.md.
inline constexpr char kUnitKey[] = "IsocenterUnit";
inline constexpr char kProtocolKey[] = "IsocenterProtocol";
inline constexpr char kCalibrationKey[] = "IsocenterCalibration";

/// A line of such a header; the value on one line, and not longer than others read.
std::string FactLine(absl::string_view key, absl::string_view value);
/// The lines of a service's job, whose frames were corrected with the set of this name; empty: with
/// none.
std::string JobFactLines(absl::string_view protocol, absl::string_view calibration);

/// The text of a MetaImage of float32 voxels, [z][y][x], little-endian. `data_file`: "LOCAL" where
/// they follow the text (.mha), else the name of the file that has them (.mhd).
/// `facts`: lines of FactLine. docs/formats/metaimage.md.
std::string MetaImageText(const VolumeGrid& grid, absl::string_view data_file,
                          absl::string_view facts);

/// The 348 bytes of a NIfTI-1 header of float32 voxels in this machine's byte order, which readers
/// find out, and the four that say that no extension follows; the voxels are next. The grid becomes
/// the sform, of scanner coordinates, in NIfTI's RAS axes. docs/formats/nifti.md.
std::string NiftiHeader(const VolumeGrid& grid);

}  // namespace isocenter::volume_file
