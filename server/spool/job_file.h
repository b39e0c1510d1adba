// The frames of one job in one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/spool/committer.h"
#include "server/spool/file.h"
#include "server/spool/format.h"
#include "server/spool/writers.h"

namespace isocenter::spool {

/// What the files of all jobs share. Outlives them.
struct Services {
  Writers* writers = nullptr;
  Committer* committer = nullptr;
  std::function<absl::Time()> clock;
  /// Called at the end of a JobFile, from any thread.
  std::function<void()> on_close;
};

/// What is acknowledged stands: a frame that is there is never written again, nor is a gap. Another
/// frame of the same index is acknowledged and not used. What failed its checksum may be written.
class JobFile : public jobs::JobSpool, public std::enable_shared_from_this<JobFile> {
 public:
  /// Makes the file and writes all of it that is not frames, so that it survives a power failure
  /// once its name does. Errors: those of File::Create and File::Write.
  static absl::StatusOr<std::shared_ptr<JobFile>> Create(const std::filesystem::path& path,
                                                         const FileHeader& header,
                                                         const std::string& acquisition,
                                                         const Services& services);
  /// Reads all of it, on all cores. Errors: DATA_LOSS, saying what is wrong; INTERNAL.
  static absl::StatusOr<std::shared_ptr<JobFile>> Open(const std::filesystem::path& path,
                                                       const std::string& job_id,
                                                       const Services& services);
  ~JobFile() override;

  const std::string& acquisition() const override { return acquisition_; }
  std::vector<jobs::FrameState> states() const override ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::optional<float>> phases() const override ABSL_LOCKS_EXCLUDED(mutex_);
  bool finished() const override ABSL_LOCKS_EXCLUDED(mutex_);
  /// Besides the port's errors: INVALID_ARGUMENT, an index or a size that is not the job's.
  void Append(jobs::SpoolFrame frame, std::function<void(absl::Status)> done) override;
  /// Waits for a write of the frame that is under way. Besides the port's errors:
  /// INVALID_ARGUMENT, FAILED_PRECONDITION (the frame is there).
  absl::Status DeclareGap(int index) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Finish() override ABSL_LOCKS_EXCLUDED(mutex_);
  /// A frame whose checksum differs counts as missing from then on.
  absl::StatusOr<jobs::FrameMeasurement> Read(int index, std::span<std::byte> pixels) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint32_t> Checksum(int index) const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Done = std::function<void(absl::Status)>;
  enum class Slot : uint8_t { kMissing, kBusy, kPresent, kGap };
  struct Waiting {
    jobs::SpoolFrame frame;
    Done done;
  };
  /// What is on disk of a slot.
  struct Found {
    Slot slot = Slot::kMissing;
    std::optional<float> phase;
  };

  JobFile(std::shared_ptr<File> file, const FileHeader& header, uint32_t tag,
          std::string acquisition, const Services& services);

  absl::Status Check(const jobs::SpoolFrame& frame) const;
  /// On a writer's thread.
  void Write(jobs::SpoolFrame frame, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WriteSlot(const jobs::SpoolFrame& frame);
  /// Ends what kBusy began, and goes on with what waited for it.
  void Settle(int index, const Found& now) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckPresent(int index) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Of a frame. Errors: DATA_LOSS.
  absl::StatusOr<SlotHeader> HeaderOf(int index, const SlotHeaderBytes& bytes) const;
  absl::StatusOr<jobs::FrameMeasurement> ReadSlot(int index, std::span<std::byte> pixels) const;
  Found Verify(int64_t index, std::span<std::byte> buffer) const;
  int64_t NowMicros() const { return absl::ToUnixMicros(services_.clock()); }

  const std::shared_ptr<File> file_;
  const Layout layout_;
  const uint32_t tag_;
  const std::string acquisition_;
  const Services services_;
  mutable absl::Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<float>> phases_ ABSL_GUARDED_BY(mutex_);  // of what was ever present
  std::multimap<int, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::spool
