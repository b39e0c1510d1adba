#include "kernels/rabbitct/benchmark_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rabbitct {
namespace {

// Fewer images at once than this are not worth it to go on beside calls.
constexpr int kLeastOverlapped = 64;

constexpr unsigned kMaxPixels = 8192;     // per detector axis, as everywhere in this project
constexpr unsigned kMaxImages = 1 << 20;  // before it becomes an int
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
  std::unique_ptr<BenchmarkRun> self(new BenchmarkRun);
  self->problem_ = problem;
  self->grid_ = {.nx = n,
                 .ny = n,
                 .nz = n,
                 .spacing = {spacing, spacing, spacing},
                 .origin = {first, first, first}};
  ISO_RETURN_IF_ERROR(ValidateGrid(self->grid_));

  ISO_ASSIGN_OR_RETURN(
      ChosenDevices chosen,
      OpenDevices(problem.backend, {.own_memory = {.memory_bytes = problem.device_memory_bytes}}));
  self->device_ = std::move(chosen.devices[0]);
  ISO_ASSIGN_OR_RETURN(self->session_, self->device_->NewSession());
  self->description_ = absl::StrCat(self->device_->description(), " (", chosen.reason, ")");
  const ops::Registry& methods = problem.methods == nullptr ? Backends() : *problem.methods;
  ISO_ASSIGN_OR_RETURN(const ops::BackprojectFactory factory,
                       methods.backproject.Find(self->device_->backend(), problem.method));
  ISO_ASSIGN_OR_RETURN(self->backproject_, factory(*self->session_));
  ISO_RETURN_IF_ERROR(self->ChooseSchedule(factory));
  ISO_RETURN_IF_ERROR(self->session_->Synchronize());
  return self;
}

// Copies from and to host memory must have ended before it goes.
BenchmarkRun::~BenchmarkRun() {
  if (session_ != nullptr) session_->Synchronize().IgnoreError();
}

absl::Status BenchmarkRun::ChooseSchedule(const ops::BackprojectFactory& factory) {
  const Bench bench{.session = session_.get(),
                    .backproject = backproject_.get(),
                    .grid = grid_,
                    .image = {1, problem_.rows, problem_.columns},
                    .images_at_once = static_cast<int>(
                        std::clamp<unsigned>(problem_.images_at_once, 1, kMaxImages))};
  const bool own_memory = device_->traits().own_memory;
  const int64_t workspace = factory.WorkspaceBytes(
      *device_, {.stack = {kLaunchViews, problem_.rows, problem_.columns}, .grid = grid_});
  const bool fits =
      !own_memory || OverlappedBytes(bench, workspace) <= device_->limits().memory_bytes;
  if (!problem_.streamed && fits) {
    auto whole = own_memory && bench.images_at_once >= kLeastOverlapped
                     ? NewOverlappedSchedule(bench)
                     : NewWaitingSchedule(bench);
    // Others may have taken of the device's memory.
    if (whole.ok() || !own_memory || !absl::IsResourceExhausted(whole.status())) {
      if (whole.ok()) schedule_ = *std::move(whole);
      return whole.status();
    }
  }
  ISO_ASSIGN_OR_RETURN(schedule_, NewStreamedSchedule(bench, factory));
  absl::StrAppend(&description_, "; ", schedule_->text());
  return absl::OkStatus();
}

std::span<float*> BenchmarkRun::image_buffers() {
  ImageBuffers* const buffers = schedule_->buffers();
  if (buffers == nullptr || static_cast<unsigned>(buffers->count()) != problem_.images_at_once) {
    return {};
  }
  return buffers->pointers();
}

absl::StatusOr<std::span<float>> BenchmarkRun::Result() {
  const auto voxels = static_cast<size_t>(grid_.voxels());
  if (schedule_->volume() != nullptr) return std::span(schedule_->volume(), voxels);
  if (result_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(
        result_, device_->NewHostMemory(grid_.voxels() * static_cast<int64_t>(sizeof(float))));
  }
  return std::span(reinterpret_cast<float*>(result_->data()), voxels);
}

absl::Status BenchmarkRun::Add(std::span<const double, 12> matrix, std::span<const float> image) {
  if (image.size() != pixels()) {
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
  ISO_RETURN_IF_ERROR(schedule_->Add(*normalized, image, static_cast<float>(1 / (scale * scale))));
  ++projections_;
  return absl::OkStatus();
}

absl::Status BenchmarkRun::Finish(std::span<float> volume) {
  if (static_cast<int64_t>(volume.size()) != grid_.voxels()) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", volume.size(), " voxels; the volume has ", grid_.voxels()));
  }
  ISO_RETURN_IF_ERROR(schedule_->Flush());
  return schedule_->Download({volume.data(), grid_.shape()});
}

}  // namespace isocenter::rabbitct
