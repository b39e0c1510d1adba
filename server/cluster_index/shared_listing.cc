#include "server/cluster_index/shared_listing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/archive/conditions.h"
#include "server/archive/listing_columns.h"
#include "server/cluster_index/text.h"

namespace isocenter::cluster_index {
namespace {

using archive::Field;
using archive::ListingLevel;
using archive::ListingRequest;

// Rows that are looked through where PostgreSQL cannot decide a condition.
constexpr char kFetch[] = "FETCH 1000 FROM page";

/// Field::kFile is made of these.
constexpr char kFileColumns[] = "r.node, r.directory, i.file_name";
constexpr int kFileParts = 3;

class Page {
 public:
  Page(const ListingRequest& request, const archive::Dialect& dialect,
       const OtherArchives& archives, const std::string& own)
      : request_(request), archives_(archives), own_(own), skip_(request.offset) {
    std::vector<std::string> columns;
    for (const Field field : request.fields) columns.push_back(archive::ColumnOf(field, dialect));
    for (const archive::FieldCondition& condition : request.conditions) {
      columns.push_back(archive::ColumnOf(condition.field, dialect));
    }
    wants_file_ = std::ranges::count(request.fields, Field::kFile) > 0;
    if (wants_file_) columns.emplace_back(kFileColumns);
    select_ = absl::StrJoin(columns, ", ");
  }

  const std::string& select() const { return select_; }
  bool is_full() const {
    return !status_.ok() || static_cast<int64_t>(rows_.size()) >= request_.limit;
  }
  absl::Status status() const { return status_; }
  std::vector<std::vector<std::string>> TakeRows() { return std::move(rows_); }

  /// A row that has not been matched with the conditions.
  void Look(const Row& row) {
    for (size_t i = 0; i < request_.conditions.size(); ++i) {
      const int column = static_cast<int>(request_.fields.size() + i);
      if (!request_.conditions[i].accepts(row.Text(column))) return;
    }
    if (is_full() || skip_-- > 0) return;
    Keep(row);
  }
  /// One that belongs to the page.
  void Keep(const Row& row) {
    std::vector<std::string>& values = rows_.emplace_back();
    for (size_t i = 0; i < request_.fields.size(); ++i) {
      values.push_back(row.Text(static_cast<int>(i)));
      if (request_.fields[i] == Field::kNode && values.back() == own_) values.back().clear();
      if (request_.fields[i] == Field::kFile) values.back() = FileOf(row);
    }
  }

 private:
  std::string FileOf(const Row& row) {
    const int first = static_cast<int>(request_.fields.size() + request_.conditions.size());
    const auto file =
        archives_.FileOf(row.Text(first), row.Text(first + 1), row.Text(first + kFileParts - 1));
    status_.Update(file.status());
    return file.ok() ? file->string() : "";
  }

  const ListingRequest& request_;
  const OtherArchives& archives_;
  const std::string& own_;
  std::string select_;
  bool wants_file_ = false;
  int64_t skip_;
  absl::Status status_;
  std::vector<std::vector<std::string>> rows_;
};

std::string TablesOf(ListingLevel level, const archive::Dialect& dialect) {
  std::string tables = " FROM studies s JOIN patients p ON p.key = s.patient_key";
  if (level >= ListingLevel::kSeries) {
    absl::StrAppend(&tables, " JOIN ", dialect.series, " r ON r.study_key = s.key");
  }
  if (level >= ListingLevel::kInstance) {
    tables += " JOIN instances i ON i.series_key = r.key";
  }
  return tables;
}

}  // namespace

archive::Dialect DialectFor(const std::vector<std::string>& nodes) {
  constexpr char kSeries[] =
      "(SELECT a.* FROM series a WHERE a.node = ANY ($1::text[]) AND NOT EXISTS "
      "(SELECT 1 FROM series b WHERE b.instance_uid = a.instance_uid "
      "AND b.node = ANY ($1::text[]) "
      "AND array_position($1::text[], b.node) < array_position($1::text[], a.node)))";
  return {.mark = '$',
          .series = kSeries,
          .list = "string_agg(DISTINCT $0, ',')",
          .node = "r.node",
          .values = {ArrayOf(nodes)}};
}

absl::StatusOr<std::vector<std::vector<std::string>>> ListRows(
    Connection& connection, const ListingRequest& request, const archive::Dialect& dialect,
    const OtherArchives& archives, const std::string& own, absl::Time deadline) {
  ISO_RETURN_IF_ERROR(archive::CheckLevels(request));
  archive::Conditions conditions(dialect.mark);
  for (const archive::Value& value : dialect.values) conditions.AddValue(value);
  conditions.AddOfStudies(request.selection);
  if (request.level >= ListingLevel::kSeries) conditions.AddOfSeries(request.selection);
  if (request.level >= ListingLevel::kInstance) {
    conditions.AddList("i.sop_instance_uid", request.selection.sop_instance_uids);
  }
  if (request.level == ListingLevel::kStudy) {
    conditions.Add(
        absl::StrCat("EXISTS (SELECT 1 FROM ", dialect.series, " o WHERE o.study_key = s.key)"));
  }
  Page page(request, dialect, archives, own);
  const std::string sql = absl::StrCat("SELECT ", page.select(), TablesOf(request.level, dialect),
                                       conditions.Where(), archive::OrderOf(request.level));
  if (request.conditions.empty()) {
    const std::string limit = conditions.AddValue(request.limit);
    const std::string offset = conditions.AddValue(request.offset);
    ISO_RETURN_IF_ERROR(connection.Query(absl::StrCat(sql, " LIMIT ", limit, " OFFSET ", offset),
                                         conditions.values(), deadline,
                                         [&](const Row& row) { page.Keep(row); }));
    ISO_RETURN_IF_ERROR(page.status());
    return page.TakeRows();
  }
  ISO_RETURN_IF_ERROR(connection.Execute(absl::StrCat("DECLARE page NO SCROLL CURSOR FOR ", sql),
                                         conditions.values(), deadline));
  for (bool has_more = true; has_more && !page.is_full();) {
    has_more = false;
    ISO_RETURN_IF_ERROR(connection.Query(kFetch, {}, deadline, [&](const Row& row) {
      has_more = true;
      page.Look(row);
    }));
  }
  ISO_RETURN_IF_ERROR(page.status());
  return page.TakeRows();
}

}  // namespace isocenter::cluster_index
