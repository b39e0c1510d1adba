// Pages of what is stored, for those who ask piece by piece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/archive/database.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// What a listing is of.
enum class ListingLevel { kStudy, kSeries, kInstance };

/// A value of a row, or of what it belongs to. What is below the listing's level has none.
enum class Field {
  kPatientName,
  kPatientId,
  kPatientBirthDate,
  kPatientSex,
  kStudyUid,
  kStudyDate,
  kStudyTime,
  kAccessionNumber,
  kStudyId,
  kStudyDescription,
  kReferringPhysicianName,
  kModalitiesInStudy,  // separated by commas
  kSeriesInStudy,      // how many
  kInstancesInStudy,   // how many
  kSeriesUid,
  kModality,
  kSeriesNumber,
  kSeriesDate,
  kSeriesTime,
  kSeriesDescription,
  kBodyPartExamined,
  kProtocolName,
  kStationName,
  kManufacturer,
  kFrameOfReferenceUid,
  kRequestedProcedureId,
  kScheduledStepId,
  kInstancesInSeries,  // how many
  kSopInstanceUid,
  kSopClassUid,
  kInstanceNumber,
  kRows,
  kColumns,
  kFile,  // absolute path
  kNode,  // whose archive the file is in; empty: this node's
};

/// The level at which a field begins to be known.
ListingLevel LevelOf(Field field);

/// What the index cannot decide by itself.
struct FieldCondition {
  Field field;
  std::function<bool(absl::string_view value)> accepts;
};

struct ListingRequest {
  ListingLevel level = ListingLevel::kStudy;
  /// Parts of levels below that of the listing do not count.
  Selection selection;
  /// All have to hold; of the level and those above.
  std::vector<FieldCondition> conditions;
  std::vector<Field> fields;  // of the level and those above
  int64_t offset = 0, limit = 0;
};

/// Newest studies first, their series by number, their instances in slice order. Reads on a
/// connection of its own, so that a long search keeps nobody waiting but other listings.
/// Thread-safe. Errors: those of Database.
class Listing {
 public:
  /// `index`: the archive's index, whose schema is up to date; `results`: the directory of results.
  static absl::StatusOr<std::unique_ptr<Listing>> Open(const std::filesystem::path& index,
                                                       std::filesystem::path results);
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  /// Calls `on_row` for each that matches, from the one with number `offset` on, at most `limit`,
  /// with the values of the fields in their order. INVALID_ARGUMENT: a field of a level below.
  absl::Status Find(const ListingRequest& request,
                    const std::function<void(const std::vector<std::string>& row)>& on_row);

 private:
  /// Of the instances of these series, in the order of the listing, those from number `first` on.
  struct Stretch {
    std::vector<int64_t> series;  // their keys
    int64_t first = 0;
  };

  /// The series that hold a page of instances, of which nothing else is asked.
  absl::StatusOr<Stretch> StretchOf(const ListingRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Listing(Database database, std::filesystem::path results)
      : results_(std::move(results)), database_(std::move(database)) {}

  const std::filesystem::path results_;
  absl::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::archive
