#include "proto/volume/headers.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace isocenter::volume_file {
namespace {

constexpr size_t kNiftiHeaderBytes = 348;

std::string Numbers(const std::vector<double>& numbers) {
  return absl::StrJoin(numbers, " ",
                       [](std::string* out, double x) { absl::StrAppendFormat(out, "%.17g", x); });
}

}  // namespace

std::string FactLine(absl::string_view key, absl::string_view value) {
  constexpr size_t kLongestValue = 256;
  std::string line = absl::StrCat(key, " = ", value.substr(0, kLongestValue));
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return line + "\n";
}

std::string JobFactLines(absl::string_view protocol, absl::string_view calibration) {
  return absl::StrCat(FactLine(kUnitKey, "HU"),
                      protocol.empty() ? "" : FactLine(kProtocolKey, protocol),
                      FactLine(kCalibrationKey, calibration.empty() ? "none" : calibration));
}

std::string MetaImageText(const VolumeGrid& grid, absl::string_view data_file,
                          absl::string_view facts) {
  std::vector<double> axes;
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < 3; ++i) axes.push_back(grid.direction[i * 3 + axis]);
  }
  const auto triple = [](Vec3 v) { return Numbers({v.x, v.y, v.z}); };
  return absl::StrCat(
      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
      "CompressedData = False\nTransformMatrix = ",
      Numbers(axes), "\nOffset = ", triple(grid.origin),
      "\nCenterOfRotation = 0 0 0\nAnatomicalOrientation = RAI\n",
      "ElementSpacing = ", triple(grid.spacing), "\nDimSize = ", grid.nx, " ", grid.ny, " ",
      grid.nz, "\nElementType = MET_FLOAT\n", facts,
      // The name of the data's file must stay the last.
      "ElementDataFile = ", data_file, "\n");
}

std::string NiftiHeader(const VolumeGrid& grid) {
  std::string bytes(kNiftiHeaderBytes + 4, '\0');
  const auto set = [&bytes](size_t offset, auto value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  };
  const int size[] = {3, grid.nx, grid.ny, grid.nz, 1, 1, 1, 1};
  const double spacing[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  const double origin[] = {grid.origin.x, grid.origin.y, grid.origin.z};
  set(0, static_cast<int32_t>(kNiftiHeaderBytes));
  for (int i = 0; i < 8; ++i) set(40 + 2 * i, static_cast<int16_t>(size[i]));
  set(70, int16_t{16});  // datatype: float32
  set(72, int16_t{32});  // its bits
  set(76, 1.0F);         // qfac
  for (int axis = 0; axis < 3; ++axis) set(80 + 4 * axis, static_cast<float>(spacing[axis]));
  set(108, static_cast<float>(bytes.size()));  // vox_offset
  set(112, 1.0F);                              // scl_slope
  set(123, char{2});                           // xyzt_units: mm
  set(254, int16_t{1});                        // sform_code: scanner
  for (int row = 0; row < 3; ++row) {
    const double turn = row < 2 ? -1 : 1;  // LPS to RAS
    for (int axis = 0; axis < 3; ++axis) {
      set(280 + 16 * row + 4 * axis,
          static_cast<float>(turn * grid.direction[row * 3 + axis] * spacing[axis]));
    }
    set(280 + 16 * row + 12, static_cast<float>(turn * origin[row]));
  }
  std::memcpy(bytes.data() + 344, "n+1", 4);
  return bytes;
}

}  // namespace isocenter::volume_file
