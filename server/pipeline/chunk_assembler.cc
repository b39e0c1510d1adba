#include "server/pipeline/chunk_assembler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {
namespace {

int BuffersOf(const recon::ReconstructionPlan& plan) {
  return std::min<int>(ChunkAssembler::kBuffers, static_cast<int>(plan.chunks.size()));
}

}  // namespace

ChunkAssembler::ChunkAssembler(const recon::ReconstructionPlan& plan, Memory memory)
    : plan_(plan), frame_bytes_(FrameBytes(plan.acquisition)) {
  absl::MutexLock lock(&mutex_);
  for (auto& pixels : memory) {
    free_.push_back(std::make_unique<ChunkBuffer>(ChunkBuffer{.pixels = std::move(pixels)}));
  }
  OpenNextChunk();
}

int64_t ChunkAssembler::BufferBytes(const recon::ReconstructionPlan& plan) {
  return BuffersOf(plan) * recon::LargestChunk(plan) * FrameBytes(plan.acquisition);
}

absl::StatusOr<ChunkAssembler::Memory> ChunkAssembler::Allocate(
    const recon::ReconstructionPlan& plan, ops::Device& device) {
  Memory memory;
  for (int i = 0; i < BuffersOf(plan); ++i) {
    ISO_ASSIGN_OR_RETURN(auto pixels, device.NewHostMemory(recon::LargestChunk(plan) *
                                                           FrameBytes(plan.acquisition)));
    memory.push_back(std::move(pixels));
  }
  return memory;
}

absl::Status ChunkAssembler::CheckFrame(const Frame& frame) const {
  if (complete()) {
    return absl::FailedPreconditionError(
        absl::StrCat("frame.index is ", frame.index, "; all ", plan_.views(),
                     " frames have arrived and only finish is legal now"));
  }
  if (frame.index != static_cast<uint32_t>(next_frame_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frame.index is ", frame.index, "; legal is ", next_frame_, ", the next of ", plan_.views(),
        frame.index < static_cast<uint32_t>(next_frame_) ? " (that frame has arrived already)"
                                                         : " (frames must leave no gap)"));
  }
  if (static_cast<int64_t>(frame.pixels.size()) != frame_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame.pixels of frame ", frame.index, " has ", frame.pixels.size(),
                     " bytes; legal is ", frame_bytes_, " (", plan_.acquisition.detector.rows,
                     " rows of ", plan_.acquisition.detector.columns, " columns of ",
                     recon::PixelBytes(plan_.acquisition.pixel_type), " bytes)"));
  }
  if (frame.crc32c) {
    const uint32_t found = Crc32c(frame.pixels);
    if (found != *frame.crc32c) {
      return absl::DataLossError(absl::StrFormat(
          "frame.crc32c of frame %d is 0x%08x; the %d bytes that arrived have 0x%08x", frame.index,
          *frame.crc32c, frame.pixels.size(), found));
    }
  }
  return absl::OkStatus();
}

absl::Status ChunkAssembler::PlaceMatrix(const Frame& frame) {
  const recon::Chunk& chunk = plan_.chunks[filling_->chunk];
  std::vector<ProjectionMatrix>& matrices = filling_->measured;
  const Trajectory& planned = plan_.acquisition.trajectory;
  const std::string where = absl::StrCat("frame.measured_matrix of frame ", frame.index, ": ");
  absl::StatusOr<ProjectionMatrix> normalised = NormalizeMatrix(*frame.measured_matrix);
  if (!normalised.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, absl::string_view(normalised.status().message())));
  }
  const absl::Status plausible =
      CheckMeasuredMatrix(*normalised, planned[frame.index], plan_.acquisition.detector);
  if (!plausible.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, plausible.message()));
  }
  if (matrices.empty()) {
    matrices.assign(planned.begin() + chunk.first_view,
                    planned.begin() + chunk.first_view + chunk.views);
  }
  matrices[filling_->frames] = *normalised;
  return absl::OkStatus();
}

absl::StatusOr<ChunkAssembler::Added> ChunkAssembler::Add(const Frame& frame) {
  ISO_RETURN_IF_ERROR(CheckFrame(frame));
  {
    absl::MutexLock lock(&mutex_);
    if (filling_ == nullptr) return absl::InternalError("a frame was added without room");
  }
  if (frame.measured_matrix) ISO_RETURN_IF_ERROR(PlaceMatrix(frame));
  std::memcpy(filling_->pixels->data() + filling_->frames * frame_bytes_, frame.pixels.data(),
              frame_bytes_);
  ++filling_->frames;
  ++next_frame_;

  Added added;
  if (filling_->frames < plan_.chunks[filling_->chunk].views) return added;
  absl::MutexLock lock(&mutex_);
  added.complete = std::move(filling_);
  if (complete()) return added;
  added.room = OpenNextChunk();
  return added;
}

bool ChunkAssembler::OpenNextChunk() {
  if (!free_.empty()) {
    filling_ = std::move(free_.back());
    free_.pop_back();
  } else {
    waiting_ = true;
    return false;
  }
  filling_->chunk = next_chunk_++;
  return true;
}

bool ChunkAssembler::Recycle(std::unique_ptr<ChunkBuffer> buffer) {
  buffer->frames = 0;
  buffer->measured.clear();
  absl::MutexLock lock(&mutex_);
  free_.push_back(std::move(buffer));
  if (!waiting_) return false;
  waiting_ = false;
  return OpenNextChunk();
}

void ChunkAssembler::Release() {
  absl::MutexLock lock(&mutex_);
  filling_.reset();
  free_.clear();
  waiting_ = false;
}

ops::RawFrames ChunkAssembler::View(const ChunkBuffer& buffer) const {
  const recon::Acquisition& acquisition = plan_.acquisition;
  const Shape3 shape{plan_.chunks[buffer.chunk].views, acquisition.detector.rows,
                     acquisition.detector.columns};
  ops::RawFrames frames;
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    frames.counts = {reinterpret_cast<const uint16_t*>(buffer.pixels->data()), shape};
  } else {
    frames.line_integrals = {reinterpret_cast<const float*>(buffer.pixels->data()), shape};
  }
  return frames;
}

absl::Status CheckMeasuredMatrix(const ProjectionMatrix& measured, const ProjectionMatrix& planned,
                                 const Detector& detector) {
  constexpr double kLargestSourceShift = 100;  // mm; calibrated arms differ by a few
  constexpr double kLargestIsocenterShift = 0.25;
  ISO_ASSIGN_OR_RETURN(const Camera found, Decompose(measured));
  ISO_ASSIGN_OR_RETURN(const Camera expected, Decompose(planned));
  const double source_shift = Norm(found.source - expected.source);
  if (!(source_shift <= kLargestSourceShift)) {
    return absl::InvalidArgumentError(absl::StrCat("its source is ", source_shift,
                                                   " mm from the planned one; legal is 0 to ",
                                                   kLargestSourceShift));
  }
  const Projected a = measured.Project({}), b = planned.Project({});
  const double shift = std::hypot(a.u() - b.u(), a.v() - b.v());
  const double legal = kLargestIsocenterShift * std::max(detector.columns, detector.rows);
  if (!(shift <= legal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it maps the isocentre ", shift,
                     " pixels away from the planned position; legal is 0 to ", legal));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::pipeline
