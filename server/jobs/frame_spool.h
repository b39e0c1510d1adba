// The port through which jobs keep their frames: durable, and readable any number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"
#include "server/jobs/disk.h"

namespace isocenter::jobs {

/// A frame on its way into the spool.
struct SpoolFrame {
  int index = 0;
  /// The pixels [v][u], little-endian, in pieces as they came from the network; together as long as
  /// a frame.
  std::vector<std::span<const std::byte>> pixels;
  /// Of the pixels; compared when set.
  std::optional<uint32_t> crc32c;
  /// Normalised; replaces the planned matrix.
  std::optional<ProjectionMatrix> measured_matrix;
  /// Relative to the calibrated one; 0: not told.
  float dose = 0;
  /// Where in the cycle of a moving organ it was taken; unset: not told.
  std::optional<float> phase;
  /// Keeps the pieces alive until the frame is written.
  std::shared_ptr<const void> memory;
};

/// What a console told of a frame besides its pixels.
struct FrameMeasurement {
  std::optional<ProjectionMatrix> matrix;  // as SpoolFrame's
  float dose = 0;
  std::optional<float> phase;
};

/// What a job's spool holds of one frame.
enum class FrameState : uint8_t {
  kMissing,
  kPresent,
  kGap,  // declared lost: a substitute is computed, and what comes later is not used
};

/// The frames of one job on disk. Each has a place of its own, so they may be written in any order
/// and again. Thread-safe.
class JobSpool {
 public:
  virtual ~JobSpool() = default;
  /// What Create was given; only whoever wrote it can read it.
  virtual const std::string& acquisition() const = 0;
  /// As it is on disk; after a restart what survived, with its checksums verified.
  virtual std::vector<FrameState> states() const = 0;
  /// What the frames that are present tell of their phases; of the others nothing.
  virtual std::vector<std::optional<float>> phases() const = 0;
  /// Whether Finish was recorded.
  virtual bool finished() const = 0;

  /// Calls `done` from a thread of the spool when the frame is as durable as the sync policy
  /// promises, in any order. Never blocks; the caller bounds how many are under way. Errors of
  /// `done`: DATA_LOSS (the checksum differs; nothing was written), RESOURCE_EXHAUSTED (disk full),
  /// INTERNAL (the disk's error).
  virtual void Append(SpoolFrame frame, std::function<void(absl::Status)> done) = 0;
  /// Records that a frame is lost, and that the console has sent all. Small and synchronous.
  virtual absl::Status DeclareGap(int index) = 0;
  virtual absl::Status Finish() = 0;

  /// The pixels of a frame that is present, into exactly its bytes, and what was told of it.
  /// Errors: DATA_LOSS (the checksum differs), NOT_FOUND, INTERNAL.
  virtual absl::StatusOr<FrameMeasurement> Read(int index, std::span<std::byte> pixels) = 0;
  /// The CRC-32C of the pixels of a frame that is present, as it was recorded with them. Errors:
  /// NOT_FOUND, DATA_LOSS (the record is damaged), INTERNAL.
  virtual absl::StatusOr<uint32_t> Checksum(int index) const = 0;
};

/// The disk of the spool.
struct SpoolDisk {
  Disk disk;
  /// What jobs take of it that have ended, and whose frames nobody reads: FreeDisk could free it.
  int64_t reclaimable_bytes = 0;
};

/// All spooled jobs. Thread-safe.
class FrameSpool {
 public:
  virtual ~FrameSpool() = default;
  /// Takes the disk space of all frames, and leaves `spared_bytes` of the disk free, which are
  /// promised to others. For both, jobs that have ended are removed, oldest first, if that
  /// suffices, else none. `acquisition` is kept as it is. Errors: RESOURCE_EXHAUSTED (the bytes
  /// that are needed, promised, free and allowed), ALREADY_EXISTS, INTERNAL.
  virtual absl::StatusOr<std::shared_ptr<JobSpool>> Create(const std::string& job_id,
                                                           const std::string& acquisition,
                                                           int frames, int64_t frame_bytes,
                                                           int64_t spared_bytes) = 0;
  /// Errors: INTERNAL.
  virtual absl::StatusOr<SpoolDisk> GetDisk() const = 0;
  /// Ids of the jobs that are in the spool, also of those that have ended.
  virtual std::vector<std::string> Jobs() const = 0;
  /// Errors: NOT_FOUND, DATA_LOSS (not a spool file, or of another version; says which).
  virtual absl::StatusOr<std::shared_ptr<JobSpool>> Open(const std::string& job_id) = 0;
  /// The job has ended: from now on its space may be reclaimed, as the retention policy says.
  virtual void Release(const std::string& job_id) = 0;
  /// Others use the frames of a job that has ended: nothing is reclaimed until it is released
  /// again, also after a restart. Errors: NOT_FOUND (says how long frames are kept), INTERNAL.
  virtual absl::Status Retain(const std::string& job_id) = 0;
  /// Others need the disk: removes jobs that have ended, oldest first, until `bytes` are free, if
  /// that suffices, else none.
  virtual void FreeDisk(int64_t bytes) = 0;
  /// Removes the job's file. OK when there is none.
  virtual absl::Status Remove(const std::string& job_id) = 0;
};

}  // namespace isocenter::jobs
