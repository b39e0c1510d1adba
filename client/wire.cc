#include "client/wire.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

v1::VolumeGrid ToProto(const VolumeGrid& grid) {
  v1::VolumeGrid proto;
  proto.set_nx(grid.nx);
  proto.set_ny(grid.ny);
  proto.set_nz(grid.nz);
  proto.set_spacing_x_mm(grid.spacing.x);
  proto.set_spacing_y_mm(grid.spacing.y);
  proto.set_spacing_z_mm(grid.spacing.z);
  proto.set_origin_x_mm(grid.origin.x);
  proto.set_origin_y_mm(grid.origin.y);
  proto.set_origin_z_mm(grid.origin.z);
  for (const double d : grid.direction) proto.add_direction(d);
  return proto;
}

absl::StatusOr<VolumeGrid> FromProto(const v1::VolumeGrid& proto) {
  if (std::max({proto.nx(), proto.ny(), proto.nz()}) > 4096) {
    return absl::InvalidArgumentError(absl::StrCat("grid is ", proto.nx(), " x ", proto.ny(), " x ",
                                                   proto.nz(),
                                                   "; legal is 1 to 4096 along each axis"));
  }
  const Vec3 spacing{proto.spacing_x_mm(), proto.spacing_y_mm(), proto.spacing_z_mm()};
  VolumeGrid grid = CenteredGrid(proto.nx(), proto.ny(), proto.nz(), spacing);
  if (!proto.centered()) {
    grid.origin = {proto.origin_x_mm(), proto.origin_y_mm(), proto.origin_z_mm()};
  }
  if (proto.direction_size() != 0 && proto.direction_size() != 9) {
    return absl::InvalidArgumentError(
        absl::StrCat("grid.direction has ", proto.direction_size(), " values; legal is 0 or 9"));
  }
  std::copy(proto.direction().begin(), proto.direction().end(), grid.direction.begin());
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  return grid;
}

v1::ProjectionMatrix ToProto(const ProjectionMatrix& matrix) {
  v1::ProjectionMatrix proto;
  proto.mutable_value()->Add(matrix.m.begin(), matrix.m.end());
  return proto;
}

v1::DetectorGeometry ToProto(const Detector& detector) {
  v1::DetectorGeometry proto;
  proto.set_columns(detector.columns);
  proto.set_rows(detector.rows);
  proto.set_pitch_u_mm(detector.pitch_u_mm);
  proto.set_pitch_v_mm(detector.pitch_v_mm);
  return proto;
}

absl::StatusOr<int64_t> CheckedFrameBytes(const v1::AcquisitionHeader& header) {
  const auto in_range = [](const char* field, uint32_t value, uint32_t highest) -> absl::Status {
    if (value >= 1 && value <= highest) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", value, "; legal is 1 to ", highest));
  };
  ISO_RETURN_IF_ERROR(in_range("detector.columns", header.detector().columns(), 8192));
  ISO_RETURN_IF_ERROR(in_range("detector.rows", header.detector().rows(), 8192));
  ISO_RETURN_IF_ERROR(in_range("frame_count", header.frame_count(), 10000));
  if (header.has_matrices()) {
    const auto& matrices = header.matrices().matrix();
    if (matrices.size() != int64_t{header.frame_count()}) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrices has ", matrices.size(),
                       " entries; legal is frame_count = ", header.frame_count()));
    }
    for (int view = 0; view < matrices.size(); ++view) {
      const auto& values = matrices[view].value();
      if (values.size() != 12 ||
          !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
        return absl::InvalidArgumentError(absl::StrCat(
            "matrices.matrix[", view, "] has ", values.size(), " values; legal is 12 finite ones"));
      }
    }
  }
  const int64_t pixels = int64_t{header.detector().columns()} * header.detector().rows();
  switch (header.pixel_type()) {
    case v1::PIXEL_TYPE_UINT16_COUNTS:
      return pixels * 2;
    case v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS:
      return pixels * 4;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("pixel_type is ", header.pixel_type(),
                       "; legal is PIXEL_TYPE_UINT16_COUNTS or PIXEL_TYPE_FLOAT32_LINE_INTEGRALS"));
  }
}

}  // namespace isocenter::client
