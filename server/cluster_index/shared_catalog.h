// What all nodes have, by the shared index; what this node has where that does not answer, and then
// it says so.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/archive/catalog.h"
#include "server/archive/dialect.h"
#include "server/cluster_index/connection.h"
#include "server/cluster_index/other_archives.h"
#include "server/cluster_index/publisher.h"
#include "server/cluster_index/reader_pool.h"

namespace isocenter::cluster_index {

/// Thread-safe. Of several copies of a series one counts: of the node whose name comes first, and
/// for retrievals one that is to be had here. Gaps begin with what matters: C-FIND shows 64
/// characters of them.
class SharedCatalog : public archive::Catalog {
 public:
  /// All outlive it. `answer`: the longest time that the shared index has.
  SharedCatalog(archive::Archive& archive, const std::string& node, const OtherArchives& archives,
                ReaderPool& pool, Publisher& publisher, absl::Duration answer);

  absl::StatusOr<std::vector<archive::PatientRow>> FindPatients(const archive::Selection& selection,
                                                                archive::Gap& gap) override;
  absl::StatusOr<std::vector<archive::StudyRow>> FindStudies(const archive::Selection& selection,
                                                             archive::Gap& gap) override;
  absl::StatusOr<std::vector<archive::SeriesRow>> FindSeries(const archive::Selection& selection,
                                                             archive::Gap& gap) override;
  absl::StatusOr<std::vector<archive::InstanceRow>> FindInstances(const std::string& series_uid,
                                                                  archive::Purpose purpose,
                                                                  archive::Gap& gap) override;
  absl::Status FindRows(const archive::ListingRequest& request,
                        const std::function<void(const std::vector<std::string>& row)>& on_row,
                        archive::Gap& gap) override;
  absl::Status CheckFile(const std::string& node, const std::filesystem::path& file) override;

 private:
  using Ask = std::function<absl::Status(Connection& connection, absl::Time deadline)>;
  /// Asks the shared index, all in one state of it, and tells why its answer may lack something.
  /// Errors: it has not answered, or nothing that can be believed; `gap` says so.
  absl::Status AskAll(const Ask& ask, archive::Gap& gap);
  absl::Status TellIncomplete(Connection& connection, absl::Time deadline, archive::Gap& gap);
  /// The rows of a statement, each by `read`.
  template <class Read>
  auto Rows(const archive::Statement& statement, const Read& read, archive::Gap& gap);

  archive::OwnCatalog own_;
  const std::string node_;
  const OtherArchives& archives_;
  ReaderPool& pool_;
  Publisher& publisher_;
  const absl::Duration answer_;
  const archive::Dialect by_name_;
};

}  // namespace isocenter::cluster_index
