// Results of tests of image quality on disk: ID.isoqual each, and an empty file ID.TIME.baseline
// beside one that is compared with. docs/qa.md, "On the server".
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "isocenter/v1/quality.pb.h"
#include "kernels/quality/conditions.h"
#include "server/storage/locks.h"

namespace isocenter::quality_records {

struct StoreOptions {
  std::filesystem::path directory;
  int most_results = 10'000;
  int most_series = 128;  // rooms and protocols
  std::function<absl::Time()> clock = absl::Now;
  /// What is known of a job's scan; nothing of one that is not there any more. Called with locks
  /// held: it asks for nothing of the store.
  std::function<v1::QualityConditions(const std::string& job_id)> conditions_of_job =
      [](const std::string&) { return v1::QualityConditions(); };
};

/// Thread-safe. What a function has reported done survives a crash of the process and of the
/// machine. One process at a time uses a directory. Beyond most_results the oldest goes that is no
/// baseline and not its series' newest.
class Store {
 public:
  /// Opens or makes the directory; a damaged file is set aside. Errors: PERMISSION_DENIED,
  /// RESOURCE_EXHAUSTED, FAILED_PRECONDITION (in use by another process), INTERNAL.
  static absl::StatusOr<std::unique_ptr<Store>> Open(StoreOptions options);

  /// What Open has set aside, as sentences for the log.
  const std::vector<std::string>& repairs() const { return repairs_; }

  /// Keeps a result with a new id; `baseline` says whether it becomes the baseline, in place of
  /// `replaces` alone where that is given (empty: of none). Its names have been checked; of its
  /// conditions those of its job count. Errors: INVALID_ARGUMENT (its measures, its conditions,
  /// another phantom than the baseline's), FAILED_PRECONDITION (it is the baseline's own scan;
  /// another baseline than `replaces`), RESOURCE_EXHAUSTED (disk, series), INTERNAL.
  absl::StatusOr<v1::QualityResult> Record(v1::QualityResult result,
                                           const std::optional<std::string>& replaces = {});
  /// Its answer tells which baseline it was before, and how the result compares with that. Errors:
  /// NOT_FOUND, RESOURCE_EXHAUSTED, INTERNAL.
  absl::StatusOr<v1::QualityResult> SetBaseline(const std::string& id);

  /// At most `most` that match, newest first, each with its verdicts; an empty name matches all.
  std::vector<v1::QualityResult> List(const std::string& station, const std::string& protocol,
                                      size_t most) const;
  /// The newest of each series.
  std::vector<v1::QualityResult> Newest() const;

 private:
  using Series = std::pair<std::string, std::string>;  // station and protocol
  struct Baseline {
    std::string id;
    int64_t set_millis = 0;
  };

  Store(StoreOptions options, storage::Lock lock)
      : options_(std::move(options)), lock_(std::move(lock)) {}

  static Series SeriesOf(const v1::QualityResult& result) {
    return {result.station_name(), result.protocol()};
  }
  std::filesystem::path FileOf(const std::string& id) const;
  std::filesystem::path MarkOf(const Baseline& baseline) const;
  absl::Status ReadDirectory();
  void TakeUp(const std::filesystem::path& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeUpMark(const std::filesystem::path& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Of the series; null where there is none.
  const v1::QualityResult* BaselineOf(const Series& series) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  /// Whether a new result may be recorded, and what it is of earlier ones.
  absl::Status CheckNew(const std::optional<std::string>& replaces, bool is_baseline,
                        v1::QualityResult& result) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  /// Makes a result the baseline; into the answer, what it replaces.
  absl::Status Mark(const v1::QualityResult& result, v1::QualityResult& answer);
  quality::Conditions ConditionsOf(const v1::QualityResult& result) const;
  /// Verdicts of `baseline` on a result, under the conditions of both.
  std::vector<quality::Verdict> Verdicts(const v1::QualityResult& baseline,
                                         const v1::QualityResult& result) const;
  /// With what is known of its baseline.
  v1::QualityResult Judged(v1::QualityResult result) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoreOptions options_;
  const storage::Lock lock_;
  std::vector<std::string> repairs_;
  /// Held while the disk is waited for, which who only reads must not do.
  absl::Mutex changing_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::map<std::string, v1::QualityResult> results_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::map<Series, Baseline> baselines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::quality_records
