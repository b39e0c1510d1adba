#include "kernels/rabbitct/benchmark_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rabbitct {
namespace {

// Where nothing overlaps: large, so that the volume is read and written rarely; and it divides the
// 496 projections of the benchmark, so that none is left for Finish, which the benchmark does not
// time.
constexpr int kBatch = 31;

// Where uploads go on beside the device's work: the views of a launch of the CUDA kernels, and at
// first fewer, since the device has nothing to do until the first batch is there (Zinsser & Keck,
// Fully3D 2013, figure 3).
constexpr int kFirstBatches[] = {8, 16, 24};
constexpr int kOverlappedBatch = 32;
// Fewer images than this are not worth it.
constexpr int kLeastOverlapped = 64;
// Page-locked memory is the whole machine's: of larger runs less is held, and waited for.
constexpr int kMostHeld = 512;

// Threads that copy images to where the device takes them from: one alone is slower than the bus.
constexpr int kCopiers = 8;

std::vector<int> OverlappedBatches(int images) {
  std::vector<int> sizes;
  int left = images;
  for (const int first : kFirstBatches) {
    sizes.push_back(first);
    left -= first;
  }
  for (; left > 0; left -= kOverlappedBatch) sizes.push_back(std::min(kOverlappedBatch, left));
  return sizes;
}

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
  const ops::Registry& methods = problem.methods == nullptr ? Backends() : *problem.methods;
  ISO_ASSIGN_OR_RETURN(const auto new_backproject,
                       methods.backproject.Find(self->device_->backend(), problem.method));
  ISO_ASSIGN_OR_RETURN(self->backproject_, new_backproject(*self->session_));
  ISO_ASSIGN_OR_RETURN(self->volume_, self->session_->NewVolume(grid));
  ISO_RETURN_IF_ERROR(self->AllocateBatches());
  self->scaled_.resize(size_t{problem.columns} * problem.rows);
  ISO_RETURN_IF_ERROR(self->session_->Synchronize());
  return self;
}

// Copies from images_ must have ended before it goes.
BenchmarkRun::~BenchmarkRun() {
  if (session_ != nullptr) session_->Synchronize().IgnoreError();
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
  ISO_RETURN_IF_ERROR(Stage(image, static_cast<float>(1 / (scale * scale))));
  filling_.matrices.push_back(*normalized);
  ++projections_;
  if (!overlapped_) {
    if (filling_.matrices.size() < kBatch) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(Backproject(filling_));
    return session_->Synchronize();
  }
  ++position_;
  if (static_cast<int>(filling_.matrices.size()) == sizes_[batch_]) {
    ISO_RETURN_IF_ERROR(CompleteBatch());
  }
  return batch_ == sizes_.size() ? Flush() : absl::OkStatus();
}

absl::Status BenchmarkRun::AllocateBatches() {
  const Shape3 image{1, problem_.rows, problem_.columns};
  const int images = static_cast<int>(std::min<unsigned>(problem_.images_at_once, kMostHeld));
  overlapped_ = device_->traits().own_memory && images >= kLeastOverlapped;
  const auto new_stack = [&](Batch& batch, int views) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(batch.stack,
                         session_->NewProjectionStack({views, problem_.rows, problem_.columns},
                                                      ops::StackUse::kProjections));
    return absl::OkStatus();
  };
  if (!overlapped_) return new_stack(filling_, kBatch);
  sizes_ = OverlappedBatches(images);
  ISO_RETURN_IF_ERROR(new_stack(filling_, kOverlappedBatch));
  ISO_RETURN_IF_ERROR(new_stack(waiting_, kOverlappedBatch));
  ISO_ASSIGN_OR_RETURN(images_, device_->NewHostMemory(images * image.count() *
                                                       static_cast<int64_t>(sizeof(float))));
  copiers_ = std::make_unique<ThreadPool>(std::min(kCopiers, UsableCores()));
  return absl::OkStatus();
}

absl::Status BenchmarkRun::Stage(std::span<const float> image, float weight) {
  const auto view = static_cast<int64_t>(filling_.matrices.size());
  const Shape3 shape{1, problem_.rows, problem_.columns};
  float* to = scaled_.data();
  if (!overlapped_) {
    if (weight == 1) return filling_.stack->Upload(view, {image.data(), shape});
    for (size_t i = 0; i < image.size(); ++i) to[i] = weight * image[i];
    return filling_.stack->Upload(view, {to, shape});
  }
  to = reinterpret_cast<float*>(images_->data()) + position_ * shape.count();
  const size_t parts = static_cast<size_t>(copiers_->threads());
  copiers_->ParallelFor(static_cast<int64_t>(parts), [&](int64_t part, int) {
    const size_t first = image.size() * static_cast<size_t>(part) / parts;
    const size_t last = image.size() * (static_cast<size_t>(part) + 1) / parts;
    for (size_t i = first; i < last; ++i) to[i] = weight * image[i];
  });
  return filling_.stack->StartUpload(view, {to, shape});
}

absl::Status BenchmarkRun::CompleteBatch() {
  // What a session starts waits for what it started before: copies of the batch that is complete
  // now began before the one that waited is back-projected, and so run beside it.
  ISO_RETURN_IF_ERROR(Backproject(waiting_));
  std::swap(waiting_, filling_);
  ++batch_;
  return absl::OkStatus();
}

absl::Status BenchmarkRun::Backproject(Batch& batch) {
  if (batch.matrices.empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(backproject_->Run(batch.matrices, *batch.stack, *volume_));
  batch.matrices.clear();
  return absl::OkStatus();
}

absl::Status BenchmarkRun::Flush() {
  ISO_RETURN_IF_ERROR(Backproject(waiting_));
  ISO_RETURN_IF_ERROR(Backproject(filling_));
  batch_ = 0;
  position_ = 0;
  return session_->Synchronize();
}

absl::Status BenchmarkRun::Finish(std::span<float> volume) {
  const VolumeGrid& grid = volume_->grid();
  if (static_cast<int64_t>(volume.size()) != grid.voxels()) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", volume.size(), " voxels; the volume has ", grid.voxels()));
  }
  ISO_RETURN_IF_ERROR(Flush());
  return volume_->Download(0, {volume.data(), grid.shape()});
}

}  // namespace isocenter::rabbitct
