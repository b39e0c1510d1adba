#include "kernels/rabbitct/benchmark_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rabbitct {
namespace {

// Large, so that the volume is read and written rarely, within the 32 views of a launch of the CUDA
// kernels; and it divides the 496 projections of the benchmark, so that none is left for Finish,
// which the benchmark does not time.
constexpr int kBatch = 31;
constexpr unsigned kMaxPixels = 8192;  // per detector axis, as everywhere in this project
constexpr unsigned kMaxVoxels = 4096;  // per edge; ValidateGrid's limit, before it becomes an int

absl::Status OutOfRange(absl::string_view field, unsigned value, unsigned largest) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; legal is 1 to ", largest));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchmarkRun>> BenchmarkRun::Create(const Problem& problem) {
  const unsigned edge = problem.voxels_per_edge;
  if (edge < 1 || edge > kMaxVoxels) return OutOfRange("L", edge, kMaxVoxels);
  if (problem.columns < 1 || problem.columns > kMaxPixels) {
    return OutOfRange("S_x", problem.columns, kMaxPixels);
  }
  if (problem.rows < 1 || problem.rows > kMaxPixels) {
    return OutOfRange("S_y", problem.rows, kMaxPixels);
  }
  const int n = static_cast<int>(edge);
  const double spacing = problem.voxel_mm, first = problem.first_voxel_mm;
  const VolumeGrid grid{.nx = n,
                        .ny = n,
                        .nz = n,
                        .spacing = {spacing, spacing, spacing},
                        .origin = {first, first, first}};
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));

  std::unique_ptr<BenchmarkRun> self(new BenchmarkRun);
  self->problem_ = problem;
  ISO_ASSIGN_OR_RETURN(ChosenDevices chosen, OpenDevices(problem.backend, {}));
  self->device_ = std::move(chosen.devices[0]);
  ISO_ASSIGN_OR_RETURN(self->session_, self->device_->NewSession());
  self->description_ = absl::StrCat(self->device_->description(), " (", chosen.reason, ")");
  ISO_ASSIGN_OR_RETURN(const auto new_backproject,
                       Backends().backproject.Find(self->device_->backend(), problem.method));
  ISO_ASSIGN_OR_RETURN(self->backproject_, new_backproject(*self->session_));
  ISO_ASSIGN_OR_RETURN(self->volume_, self->session_->NewVolume(grid));
  ISO_ASSIGN_OR_RETURN(self->batch_,
                       self->session_->NewProjectionStack({kBatch, problem.rows, problem.columns},
                                                          ops::StackUse::kProjections));
  self->scaled_.resize(size_t{problem.columns} * problem.rows);
  ISO_RETURN_IF_ERROR(self->session_->Synchronize());
  return self;
}

absl::Status BenchmarkRun::Add(std::span<const double, 12> matrix, std::span<const float> image) {
  if (image.size() != scaled_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", image.size(),
                                                   " pixels; legal is ", problem_.columns, " x ",
                                                   problem_.rows));
  }
  // Our operations want w = 1 at the isocentre. The benchmark divides by the square of w as it
  // is, so that a matrix s·P with w(P) = 1 weights its projection by 1/s².
  const double scale = matrix[11];
  ProjectionMatrix world;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      world.m[row * 4 + column] = (scale < 0 ? -1 : 1) * matrix[column * 3 + row];
    }
  }
  const absl::StatusOr<ProjectionMatrix> normalized = NormalizeMatrix(world);
  if (!normalized.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("matrix of projection ", projections_, ": ", normalized.status().message()));
  }
  const auto weight = static_cast<float>(1 / (scale * scale));
  if (weight != 1) {
    for (size_t i = 0; i < image.size(); ++i) scaled_[i] = weight * image[i];
    image = scaled_;
  }
  ISO_RETURN_IF_ERROR(batch_->Upload(static_cast<int64_t>(matrices_.size()),
                                     {image.data(), {1, problem_.rows, problem_.columns}}));
  matrices_.push_back(*normalized);
  ++projections_;
  return matrices_.size() < kBatch ? absl::OkStatus() : BackprojectBatch();
}

absl::Status BenchmarkRun::BackprojectBatch() {
  if (matrices_.empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(backproject_->Run(matrices_, *batch_, *volume_));
  matrices_.clear();
  return session_->Synchronize();
}

absl::Status BenchmarkRun::Finish(std::span<float> volume) {
  const VolumeGrid& grid = volume_->grid();
  if (static_cast<int64_t>(volume.size()) != grid.voxels()) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", volume.size(), " voxels; the volume has ", grid.voxels()));
  }
  ISO_RETURN_IF_ERROR(BackprojectBatch());
  return volume_->Download(0, {volume.data(), grid.shape()});
}

}  // namespace isocenter::rabbitct
