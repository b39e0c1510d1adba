// What queries and retrievals of others ask: this node's index, or one that nodes share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/archive/archive.h"
#include "server/archive/listing.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// Why an answer may lack something, as a sentence for whoever asked; empty: it lacks nothing.
using Gap = std::string;

/// Where instances are wanted for.
enum class Purpose {
  kAnswer,    // what the index says of them
  kRetrieval  // their files: of copies one that can be read here is named
};

/// Thread-safe. A function that sets `gap` has answered as well as it can; it does not touch a gap
/// that has been found before. Errors besides those they name: those of Archive and Listing.
class Catalog {
 public:
  virtual ~Catalog() = default;
  /// In the order of Archive's functions.
  virtual absl::StatusOr<std::vector<PatientRow>> FindPatients(const Selection& selection,
                                                               Gap& gap) = 0;
  virtual absl::StatusOr<std::vector<StudyRow>> FindStudies(const Selection& selection,
                                                            Gap& gap) = 0;
  virtual absl::StatusOr<std::vector<SeriesRow>> FindSeries(const Selection& selection,
                                                            Gap& gap) = 0;
  virtual absl::StatusOr<std::vector<InstanceRow>> FindInstances(const std::string& series_uid,
                                                                 Purpose purpose, Gap& gap) = 0;
  /// As Listing::Find; Field::kFile makes it one for retrieval.
  virtual absl::Status FindRows(
      const ListingRequest& request,
      const std::function<void(const std::vector<std::string>& row)>& on_row, Gap& gap) = 0;
  /// Whether the file of an instance, which `node` has, is to be read here. UNAVAILABLE: it is not,
  /// for a reason that names the node.
  virtual absl::Status CheckFile(const std::string& node, const std::filesystem::path& file) = 0;
};

/// Of this node alone, which lacks nothing that is asked of it.
class OwnCatalog : public Catalog {
 public:
  explicit OwnCatalog(Archive& archive) : archive_(archive) {}
  absl::StatusOr<std::vector<PatientRow>> FindPatients(const Selection& selection, Gap&) override;
  absl::StatusOr<std::vector<StudyRow>> FindStudies(const Selection& selection, Gap&) override;
  absl::StatusOr<std::vector<SeriesRow>> FindSeries(const Selection& selection, Gap&) override;
  absl::StatusOr<std::vector<InstanceRow>> FindInstances(const std::string& series_uid, Purpose,
                                                         Gap&) override;
  absl::Status FindRows(const ListingRequest& request,
                        const std::function<void(const std::vector<std::string>&)>& on_row,
                        Gap&) override;
  absl::Status CheckFile(const std::string& node, const std::filesystem::path& file) override;

 private:
  Archive& archive_;
};

}  // namespace isocenter::archive
