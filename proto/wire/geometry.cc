#include "proto/wire/geometry.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/illegal.h"
#include "proto/wire/mistakes.h"

namespace isocenter::wire {
namespace {

constexpr uint32_t kMostDetectorPixels = 8192;  // per axis

}  // namespace

absl::StatusOr<VolumeGrid> GridFromProto(const v1::VolumeGrid& grid) {
  const uint32_t counts[] = {grid.nx(), grid.ny(), grid.nz()};
  const char* names[] = {"nx", "ny", "nz"};
  Mistakes mistakes;
  int voxels[] = {1, 1, 1};  // where they are none, so that the rest is looked at
  for (int axis = 0; axis < 3; ++axis) {
    if (counts[axis] < 1 || counts[axis] > 4096) {
      mistakes.Add(
          Illegal(absl::StrCat("grid.", names[axis]), absl::StrCat(counts[axis]), "1 to 4096"));
    } else {
      voxels[axis] = static_cast<int>(counts[axis]);
    }
  }
  VolumeGrid result{.nx = voxels[0], .ny = voxels[1], .nz = voxels[2]};
  result.spacing = {grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm()};
  result.origin = {grid.origin_x_mm(), grid.origin_y_mm(), grid.origin_z_mm()};
  if (grid.direction_size() != 0) {
    if (grid.direction_size() != 9) {
      mistakes.Add(absl::InvalidArgumentError(absl::StrCat(
          "grid.direction has ", grid.direction_size(), " values; legal is 9, or 0 for identity")));
    } else {
      std::copy(grid.direction().begin(), grid.direction().end(), result.direction.begin());
    }
  }
  if (grid.centered()) {
    if (!(result.origin == Vec3{})) {
      mistakes.Add(absl::InvalidArgumentError(
          absl::StrCat("grid.origin is (", grid.origin_x_mm(), ", ", grid.origin_y_mm(), ", ",
                       grid.origin_z_mm(), ") mm; legal is unset when grid.centered is true")));
    }
    result.origin =
        -result.VoxelToWorld(0.5 * (result.nx - 1), 0.5 * (result.ny - 1), 0.5 * (result.nz - 1));
  }
  mistakes.Add(ValidateGrid(result));
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  return result;
}

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
  proto.mutable_direction()->Add(grid.direction.begin(), grid.direction.end());
  return proto;
}

v1::ProjectionMatrix ToProto(const ProjectionMatrix& matrix) {
  v1::ProjectionMatrix proto;
  proto.mutable_value()->Add(matrix.m.begin(), matrix.m.end());
  return proto;
}

absl::StatusOr<ProjectionMatrix> MatrixFromProto(const v1::ProjectionMatrix& matrix) {
  if (matrix.value_size() != 12) {
    return absl::InvalidArgumentError(
        absl::StrCat("the matrix has ", matrix.value_size(), " values; legal is 12"));
  }
  ProjectionMatrix result;
  for (int i = 0; i < 12; ++i) {
    result.m[i] = matrix.value(i);
    if (!std::isfinite(result.m[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", i, " is ", result.m[i], "; legal is a finite number"));
    }
  }
  return result;
}

v1::DetectorGeometry ToProto(const Detector& detector) {
  v1::DetectorGeometry proto;
  proto.set_columns(detector.columns);
  proto.set_rows(detector.rows);
  proto.set_pitch_u_mm(detector.pitch_u_mm);
  proto.set_pitch_v_mm(detector.pitch_v_mm);
  return proto;
}

absl::StatusOr<Detector> DetectorFromProto(const v1::DetectorGeometry& detector) {
  // The wire's unsigned counts are compared before they become int.
  Mistakes mistakes;
  for (const auto& [field, count] : {std::pair("detector.columns", detector.columns()),
                                     std::pair("detector.rows", detector.rows())}) {
    if (count < 1 || count > kMostDetectorPixels) {
      mistakes.Add(Illegal(field, absl::StrCat(count), absl::StrCat("1 to ", kMostDetectorPixels)));
    }
  }
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  return Detector{.columns = static_cast<int>(detector.columns()),
                  .rows = static_cast<int>(detector.rows()),
                  .pitch_u_mm = detector.pitch_u_mm(),
                  .pitch_v_mm = detector.pitch_v_mm()};
}

}  // namespace isocenter::wire
