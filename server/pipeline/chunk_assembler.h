// Frames in, chunks of the plan out, in a bounded number of buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/plan.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {

/// The frames of one chunk in host memory.
struct ChunkBuffer {
  std::unique_ptr<ops::HostMemory> pixels;  // [view][v][u]
  int chunk = 0;                            // index in plan.chunks
  int frames = 0;                           // filled so far
  /// Empty, or one normalised matrix per view of the chunk.
  std::vector<ProjectionMatrix> measured;
};

/// Cuts the stream of frames into the plan's chunks. How frames were cut in time leaves no trace in
/// the chunks. One producer calls Add; one consumer calls Recycle, from any thread.
class ChunkAssembler {
 public:
  /// Chunks that may be held at once: one fills, one computes, one is ready in between.
  static constexpr int kBuffers = 3;

  using Memory = std::vector<std::unique_ptr<ops::HostMemory>>;
  /// The memory of the buffers for a plan. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<Memory> Allocate(const recon::ReconstructionPlan& plan,
                                         ops::Device& device);
  /// Bytes that it takes, for admission.
  static int64_t BufferBytes(const recon::ReconstructionPlan& plan);

  /// `plan` must outlive the assembler; `memory` comes from Allocate.
  ChunkAssembler(const recon::ReconstructionPlan& plan, Memory memory);

  struct Added {
    /// Set when the frame completed a chunk; to be given back with Recycle.
    std::unique_ptr<ChunkBuffer> complete;
    /// False: all buffers are taken. The producer must wait until Recycle returns true.
    bool room = true;
  };
  /// Checks a frame and takes it over. Errors, each naming the value and what is legal:
  /// INVALID_ARGUMENT (index out of range or out of order, payload length, measured matrix),
  /// DATA_LOSS (checksum), FAILED_PRECONDITION (more frames than announced).
  absl::StatusOr<Added> Add(const Frame& frame);

  /// Takes a buffer back. True when the producer was waiting for it: there is room now.
  bool Recycle(std::unique_ptr<ChunkBuffer> buffer);

  /// Frees the buffers that it holds. Only Recycle may follow.
  void Release();

  /// Frames taken over; of the producer.
  int frames() const { return next_frame_; }
  bool complete() const { return next_frame_ == plan_.views(); }

  /// A chunk's pixels as the reconstructor takes them.
  ops::RawFrames View(const ChunkBuffer& buffer) const;

 private:
  absl::Status CheckFrame(const Frame& frame) const;
  absl::Status PlaceMatrix(const Frame& frame);
  /// Puts a buffer in place for the next chunk. False when all are taken; then the producer counts
  /// as waiting.
  bool OpenNextChunk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const recon::ReconstructionPlan& plan_;
  const int64_t frame_bytes_;
  // Of the producer; while it waits, filling_ is Recycle's.
  int next_frame_ = 0;
  std::unique_ptr<ChunkBuffer> filling_;

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<ChunkBuffer>> free_ ABSL_GUARDED_BY(mutex_);
  int next_chunk_ ABSL_GUARDED_BY(mutex_) = 0;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
};

/// Whether a measured matrix is a plausible correction of the planned one: the source within 100 mm
/// and the isocentre within a quarter of the detector's larger side. Both are normalised. Errors:
/// INVALID_ARGUMENT with what was found.
absl::Status CheckMeasuredMatrix(const ProjectionMatrix& measured, const ProjectionMatrix& planned,
                                 const Detector& detector);

}  // namespace isocenter::pipeline
