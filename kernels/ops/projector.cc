#include "kernels/ops/projector.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {

absl::string_view ProjectorName(ProjectorModel model) {
  switch (model) {
    case ProjectorModel::kJoseph:
      return "joseph";
    case ProjectorModel::kSiddon:
      return "siddon";
    case ProjectorModel::kVoxelDriven:
      return "voxel_driven";
    case ProjectorModel::kVoxelDrivenSplit:
      return "voxel_driven_split";
    case ProjectorModel::kSeparableFootprint:
      return "separable_footprint";
  }
  return "";
}

absl::StatusOr<ProjectorModel> ProjectorNamed(absl::string_view name) {
  std::string names;
  for (const ProjectorModel model : kProjectorModels) {
    if (name == ProjectorName(model)) return model;
    absl::StrAppend(&names, names.empty() ? "" : ", ", ProjectorName(model));
  }
  return absl::InvalidArgumentError(absl::StrCat("no projector '", name, "'; there are: ", names));
}

absl::Status ForwardProject::Run(std::span<const ProjectionMatrix> matrices,
                                 const VolumeBuffer& volume, ProjectionStack& projections) {
  ISO_RETURN_IF_ERROR(CheckUse(projections, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckMatrices(matrices, projections.shape()));
  return DoRun(matrices, volume, projections);
}

absl::Status RowSums::Run(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                          ProjectionStack& projections) {
  ISO_RETURN_IF_ERROR(CheckUse(projections, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckMatrices(matrices, projections.shape()));
  return DoRun(matrices, grid, projections);
}

absl::Status MatchedBackproject::Run(std::span<const ProjectionMatrix> matrices,
                                     const ProjectionStack& projections, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(CheckUse(projections, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckMatrices(matrices, projections.shape()));
  return DoRun(matrices, projections, volume);
}

int AxialAxis(const ProjectionMatrix& matrix, const VolumeGrid& grid) {
  // At the isocentre w = m[11], u = m[3] / w and v = m[7] / w.
  const double w = matrix(2, 3), u = matrix(0, 3) / w, v = matrix(1, 3) / w;
  int axial = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    double du = 0, dv = 0;
    for (int i = 0; i < 3; ++i) {
      const double direction = grid.direction[3 * i + axis];
      du += direction * (matrix(0, i) - u * matrix(2, i));
      dv += direction * (matrix(1, i) - v * matrix(2, i));
    }
    const double more = std::abs(dv) - std::abs(du);
    if (more >= largest) {
      largest = more;
      axial = axis;
    }
  }
  return axial;
}

}  // namespace isocenter::ops
