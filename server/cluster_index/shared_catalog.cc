#include "server/cluster_index/shared_catalog.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/archive/find_sql.h"
#include "server/base/log.h"
#include "server/cluster_index/shared_listing.h"
#include "server/cluster_index/text.h"

namespace isocenter::cluster_index {
namespace {

using archive::Gap;

void Note(Gap& gap, const std::string& why) {
  if (gap.empty()) gap = why;
}

}  // namespace

SharedCatalog::SharedCatalog(archive::Archive& archive, const std::string& node,
                             const OtherArchives& archives, ReaderPool& pool, Publisher& publisher,
                             absl::Duration answer)
    : own_(archive),
      node_(node),
      archives_(archives),
      pool_(pool),
      publisher_(publisher),
      answer_(answer),
      by_name_(DialectFor(archives.nodes())) {}

absl::Status SharedCatalog::TellIncomplete(Connection& connection, absl::Time deadline, Gap& gap) {
  return connection.Query(
      "SELECT node FROM nodes WHERE NOT is_complete AND node = ANY ($1::text[]) ORDER BY node "
      "LIMIT 1",
      {ArrayOf(archives_.nodes())}, deadline, [&](const Row& row) {
        Note(gap, absl::StrCat("not all of node ", row.Text(0), " is in the shared index yet"));
      });
}

absl::Status SharedCatalog::AskAll(const Ask& ask, Gap& gap) {
  const absl::Time deadline = absl::Now() + answer_;
  const auto answer = [&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, pool_.Take(deadline));
    // Whoever has just stored something here finds it.
    const bool is_own_known = publisher_.WaitUntilPublished(deadline - answer_ / 2);
    Gap incomplete =
        is_own_known ? "" : absl::StrCat("not all of node ", node_, " is in the shared index yet");
    const absl::Status status = connection->InTransaction(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", deadline, [&]() -> absl::Status {
          ISO_RETURN_IF_ERROR(TellIncomplete(*connection, deadline, incomplete));
          return ask(*connection, deadline);
        });
    pool_.GiveBack(std::move(connection));
    if (status.ok() && !incomplete.empty()) Note(gap, incomplete);
    return status;
  };
  const absl::Status status = answer();
  if (status.ok()) return status;
  // That it is away is told once, elsewhere.
  if (!absl::IsUnavailable(status)) {
    spdlog::warn("event=shared_index_unanswered error=\"{}\"", status.ToString());
  }
  Note(gap, absl::StrCat("only of node ", node_, ": the shared index does not answer"));
  return status;
}

template <class Read>
auto SharedCatalog::Rows(const archive::Statement& statement, const Read& read, Gap& gap) {
  std::vector<std::invoke_result_t<Read, const Row&>> rows;
  const absl::Status status = AskAll(
      [&](Connection& connection, absl::Time deadline) {
        return connection.Query(statement.sql, statement.values, deadline,
                                [&](const Row& row) { rows.push_back(read(row)); });
      },
      gap);
  using Answer = absl::StatusOr<decltype(rows)>;
  return status.ok() ? Answer(std::move(rows)) : Answer(status);
}

absl::StatusOr<std::vector<archive::PatientRow>> SharedCatalog::FindPatients(
    const archive::Selection& selection, Gap& gap) {
  auto rows = Rows(PatientsStatement(selection, by_name_), archive::PatientRowOf<Row>, gap);
  return rows.ok() ? std::move(rows) : own_.FindPatients(selection, gap);
}

absl::StatusOr<std::vector<archive::StudyRow>> SharedCatalog::FindStudies(
    const archive::Selection& selection, Gap& gap) {
  auto rows = Rows(StudiesStatement(selection, by_name_), archive::StudyRowOf<Row>, gap);
  return rows.ok() ? std::move(rows) : own_.FindStudies(selection, gap);
}

absl::StatusOr<std::vector<archive::SeriesRow>> SharedCatalog::FindSeries(
    const archive::Selection& selection, Gap& gap) {
  auto rows = Rows(SeriesStatement(selection, by_name_), archive::SeriesRowOf<Row>, gap);
  return rows.ok() ? std::move(rows) : own_.FindSeries(selection, gap);
}

absl::StatusOr<std::vector<archive::InstanceRow>> SharedCatalog::FindInstances(
    const std::string& series_uid, archive::Purpose purpose, Gap& gap) {
  const bool wants_files = purpose == archive::Purpose::kRetrieval;
  absl::Status believed;
  const auto read = [&](const Row& row) {
    archive::InstanceRow instance = archive::InstanceRowOf(row);
    if (!wants_files) return instance;
    instance.node = row.Text(archive::kInstanceNode);
    const auto file = archives_.FileOf(instance.node, row.Text(archive::kInstanceDirectory),
                                       instance.instance.file_name);
    believed.Update(file.status());
    if (file.ok()) instance.file = *file;
    if (instance.node == node_) instance.node.clear();
    return instance;
  };
  auto rows = Rows(
      InstancesStatement(series_uid, wants_files ? DialectFor(archives_.NodesByReach()) : by_name_),
      read, gap);
  if (rows.ok() && believed.ok()) return rows;
  if (!believed.ok()) {
    spdlog::error("event=shared_index_not_believed error=\"{}\"", believed.ToString());
    Note(gap, absl::StrCat("only of node ", node_, ": the shared index is damaged"));
  }
  return own_.FindInstances(series_uid, purpose, gap);
}

absl::Status SharedCatalog::FindRows(
    const archive::ListingRequest& request,
    const std::function<void(const std::vector<std::string>&)>& on_row, Gap& gap) {
  const bool wants_files = std::ranges::count(request.fields, archive::Field::kFile) > 0;
  const archive::Dialect dialect = wants_files ? DialectFor(archives_.NodesByReach()) : by_name_;
  std::vector<std::vector<std::string>> rows;
  const absl::Status status = AskAll(
      [&](Connection& connection, absl::Time deadline) -> absl::Status {
        ISO_ASSIGN_OR_RETURN(rows,
                             ListRows(connection, request, dialect, archives_, node_, deadline));
        return absl::OkStatus();
      },
      gap);
  if (!status.ok()) return own_.FindRows(request, on_row, gap);
  for (const std::vector<std::string>& row : rows) on_row(row);
  return absl::OkStatus();
}

absl::Status SharedCatalog::CheckFile(const std::string& node, const std::filesystem::path& file) {
  return archives_.Check(node, file);
}

}  // namespace isocenter::cluster_index
