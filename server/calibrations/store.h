// Calibration sets on disk: NAME.isocal as it was added, and NAME.withdrawn beside one that is not
// to be chosen any more. docs/calibration.md, "On disk".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "isocenter/v1/calibration_service.pb.h"
#include "kernels/geometry/trajectory.h"
#include "server/jobs/calibrations.h"
#include "server/storage/locks.h"

namespace isocenter::calibrations {

struct StoreOptions {
  std::filesystem::path directory;
  int most_sets = 10'000;
  int64_t most_bytes = int64_t{64} << 30;  // of all sets
  std::function<absl::Time()> clock = absl::Now;
};

class Upload;

/// Thread-safe. What a function has reported done survives a crash of the process and of the
/// machine. A set does not change once it is kept. One process at a time uses a directory.
class Store : public jobs::CalibrationStore {
 public:
  /// Opens or makes the directory and puts right what a crash has left. Errors: PERMISSION_DENIED,
  /// RESOURCE_EXHAUSTED, FAILED_PRECONDITION (in use by another process), INTERNAL.
  static absl::StatusOr<std::unique_ptr<Store>> Open(StoreOptions options);

  /// What Open has put right or set aside, as sentences for the log.
  const std::vector<std::string>& repairs() const { return repairs_; }

  std::vector<jobs::CalibrationLabel> Labels() const override;
  absl::StatusOr<std::shared_ptr<const ops::Calibration>> Load(
      const jobs::UsedCalibration& used) override;

  /// The matrices of one of these, normalised. Errors: as Load.
  absl::StatusOr<Trajectory> LoadGeometry(const jobs::UsedCalibration& used);

  /// Newest first, at most `most`: of a station (empty: of all), and only where it is asked for
  /// those that are `withdrawn`.
  std::vector<v1::KeptCalibration> List(const std::string& station, bool withdrawn,
                                        size_t most) const;
  /// Errors: NOT_FOUND.
  absl::StatusOr<v1::KeptCalibration> Find(const std::string& name) const;
  /// A set's file, whose checksum has just been compared; it is never written to. Errors:
  /// NOT_FOUND, DATA_LOSS (it is damaged, and from now on set aside), INTERNAL.
  absl::StatusOr<std::filesystem::path> VerifiedFile(const std::string& name);
  /// It is not chosen any more, and stays. Errors: NOT_FOUND, RESOURCE_EXHAUSTED, INTERNAL.
  absl::StatusOr<v1::KeptCalibration> Withdraw(const std::string& name);

  /// Begins to add a set whose file has so many bytes. One at a time, which ends with the upload.
  /// Errors: INVALID_ARGUMENT (name, bytes), RESOURCE_EXHAUSTED (another one is being added; the
  /// disk, the number of sets or their bytes), INTERNAL. One whose name is kept is begun as well:
  /// it may be the same.
  absl::StatusOr<std::unique_ptr<Upload>> Begin(const std::string& name, uint64_t file_bytes);

 private:
  friend class Upload;
  explicit Store(StoreOptions options, storage::Lock lock)
      : options_(std::move(options)), lock_(std::move(lock)) {}

  std::filesystem::path FileOf(const std::string& name) const;
  std::filesystem::path MarkOf(const std::string& name) const;
  absl::Status ReadDirectory();
  void TakeUp(const std::filesystem::path& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Sets a damaged set aside, for who wants to look at it. DATA_LOSS; or, where it could only not
  /// be opened, INTERNAL.
  absl::Status Damaged(const std::string& name, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckRoom(uint64_t file_bytes) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Its times, by those of its files.
  void SetTimes(v1::KeptCalibration& kept) const;
  /// The file is complete and on the disk: gives it its name.
  absl::StatusOr<v1::KeptCalibration> Keep(const std::filesystem::path& staged,
                                           v1::KeptCalibration kept);
  void EndUpload();

  const StoreOptions options_;
  const storage::Lock lock_;
  std::vector<std::string> repairs_;
  /// Held while the disk is waited for, which who only reads the list must not do.
  absl::Mutex changing_ ABSL_ACQUIRED_BEFORE(mutex_);
  bool uploading_ ABSL_GUARDED_BY(changing_) = false;
  mutable absl::Mutex mutex_;
  std::map<std::string, v1::KeptCalibration> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::calibrations
