#include "kernels/recon/self_calibration/reference/radiographs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/source_position.h"

namespace isocenter::recon {
namespace {

constexpr auto kModel = ops::ProjectorModel::kJoseph;

}  // namespace

absl::StatusOr<std::unique_ptr<Radiographs>> Radiographs::Create(const ReferenceVolume& reference,
                                                                 const Detector& detector,
                                                                 int most_views,
                                                                 const ops::Registry& registry,
                                                                 ops::Device& device) {
  std::unique_ptr<Radiographs> made(new Radiographs);
  made->detector_ = detector;
  made->most_views_ = most_views;
  ISO_ASSIGN_OR_RETURN(made->session_, device.NewSession());
  ops::Session& session = *made->session_;
  ISO_ASSIGN_OR_RETURN(const ops::ForwardProjectFactory project,
                       registry.projectors.at(kModel).forward.Find(session.backend()));
  ISO_ASSIGN_OR_RETURN(const ops::ArithmeticFactory arithmetic,
                       registry.arithmetic.Find(session.backend()));
  ISO_ASSIGN_OR_RETURN(made->project_, project(session));
  ISO_ASSIGN_OR_RETURN(made->arithmetic_, arithmetic(session));
  ISO_ASSIGN_OR_RETURN(made->volume_, session.NewVolume(reference.grid));
  ISO_RETURN_IF_ERROR(made->volume_->Upload(
      0, HostView3<const float>(reference.mu.data(), reference.grid.shape())));
  ISO_ASSIGN_OR_RETURN(made->stack_,
                       session.NewProjectionStack({most_views, detector.rows, detector.columns},
                                                  ops::StackUse::kProjections));
  return made;
}

absl::StatusOr<std::span<const float>> Radiographs::Project(
    std::span<const ProjectionMatrix> matrices) {
  const Shape3 shape{static_cast<int64_t>(matrices.size()), detector_.rows, detector_.columns};
  lines_.resize(shape.count());
  ISO_RETURN_IF_ERROR(stack_->Reshape(shape));
  ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *stack_));
  ISO_RETURN_IF_ERROR(project_->Run(matrices, *volume_, *stack_));
  ISO_RETURN_IF_ERROR(stack_->Download(0, HostView3<float>(lines_.data(), shape)));
  return std::span<const float>(lines_);
}

std::vector<uint8_t> CoveredPixels(const ReferenceVolume& reference, const ProjectionMatrix& matrix,
                                   const Detector& detector, double air_mu) {
  const VolumeGrid& grid = reference.grid;
  const ProjectionMatrix indices = ToVoxelIndices(matrix, grid);
  const Vec3 source = SourceOf(indices);
  const std::array<double, 9> left = InverseLeft(indices);
  const double from[3] = {source.x, source.y, source.z};
  const double last[3] = {grid.nx - 1.0, grid.ny - 1.0, grid.nz - 1.0};
  const auto is_air = [&](const double(&direction)[3], double way) {
    int64_t at[3];
    for (int axis = 0; axis < 3; ++axis) {
      at[axis] = std::lround(std::clamp(from[axis] + way * direction[axis], 0.0, last[axis]));
    }
    return reference.mu[(at[2] * grid.ny + at[1]) * grid.nx + at[0]] < air_mu;
  };
  std::vector<uint8_t> covered(size_t(detector.rows) * detector.columns, 0);
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      double direction[3], enters = 0, leaves = std::numeric_limits<double>::infinity();
      for (int axis = 0; axis < 3; ++axis) {
        direction[axis] = left[3 * axis] * u + left[3 * axis + 1] * v + left[3 * axis + 2];
        const double a = -from[axis] / direction[axis];
        const double b = (last[axis] - from[axis]) / direction[axis];
        enters = std::max(enters, std::min(a, b));
        leaves = std::min(leaves, std::max(a, b));
      }
      if (!(enters < leaves)) continue;
      if (!is_air(direction, enters) || !is_air(direction, leaves)) continue;
      covered[size_t(v) * detector.columns + u] = 1;
    }
  }
  return covered;
}

}  // namespace isocenter::recon
