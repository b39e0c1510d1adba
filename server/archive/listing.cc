#include "server/archive/listing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/archive/conditions.h"
#include "server/archive/listing_columns.h"

namespace isocenter::archive {
namespace {

constexpr char kFilter[] = "accepts";

bool AsksForPatients(const ListingRequest& request) {
  const Selection& selection = request.selection;
  return !selection.patient_ids.empty() || !selection.patient_names.empty() ||
         std::ranges::any_of(request.conditions, [](const FieldCondition& condition) {
           return condition.field <= Field::kPatientSex;
         });
}

/// The keys of the rows that match, in order: study, series and how many instances it has,
/// position. Each table's rows come out of an index in the order that is asked for, so that a page
/// costs what is before it, and nothing of what follows. A CROSS JOIN says that studies are walked
/// first, whatever SQLite takes for cheaper; where the selection leaves few of the lower tables'
/// rows, they may be.
std::string KeysOf(const ListingRequest& request, bool in_known_series) {
  const Selection& selection = request.selection;
  const bool few_series = in_known_series || !selection.series_uids.empty() ||
                          !selection.requested_procedure_ids.empty() ||
                          !selection.scheduled_step_ids.empty();
  std::string keys = "s.key AS study_key";
  std::string tables = "studies s";
  if (AsksForPatients(request)) tables += " JOIN patients p ON p.key = s.patient_key";
  if (request.level >= ListingLevel::kSeries) {
    keys += ", r.key AS series_key, r.instance_count AS instance_count";
    const bool few = few_series || (request.level == ListingLevel::kInstance &&
                                    !selection.sop_instance_uids.empty());
    absl::StrAppend(&tables, few ? "" : " CROSS", " JOIN series r ON r.study_key = s.key");
  }
  if (request.level >= ListingLevel::kInstance) {
    keys += ", i.position AS position";
    absl::StrAppend(&tables, selection.sop_instance_uids.empty() ? " CROSS" : "",
                    " JOIN instances i ON i.series_key = r.key");
  }
  return absl::StrCat("SELECT ", keys, " FROM ", tables);
}

/// What the keys `k` lead to.
std::string TablesOf(ListingLevel level) {
  std::string tables =
      " CROSS JOIN studies s ON s.key = k.study_key CROSS JOIN patients p ON p.key = s.patient_key";
  if (level >= ListingLevel::kSeries) tables += " CROSS JOIN series r ON r.key = k.series_key";
  if (level >= ListingLevel::kInstance) {
    tables += " CROSS JOIN instances i ON i.series_key = k.series_key AND i.position = k.position";
  }
  return tables;
}

Conditions ConditionsOf(const ListingRequest& request) {
  Conditions conditions;
  conditions.AddOfStudies(request.selection);
  if (request.level >= ListingLevel::kSeries) conditions.AddOfSeries(request.selection);
  if (request.level >= ListingLevel::kInstance) {
    conditions.AddList("i.sop_instance_uid", request.selection.sop_instance_uids);
  }
  for (size_t i = 0; i < request.conditions.size(); ++i) {
    conditions.Add(absl::StrCat(kFilter, "(", i, ", ", ColumnOf(request.conditions[i].field), ")"));
  }
  return conditions;
}

/// Instances of which nothing is asked but what they belong to: counting those of whole series
/// leads to any page of them.
bool AsksForSeriesAlone(const ListingRequest& request) {
  return request.level == ListingLevel::kInstance && request.selection.sop_instance_uids.empty() &&
         std::ranges::none_of(request.conditions, [](const FieldCondition& condition) {
           return LevelOf(condition.field) == ListingLevel::kInstance;
         });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listing>> Listing::Open(const std::filesystem::path& index,
                                                       std::filesystem::path results) {
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(index));
  return std::unique_ptr<Listing>(new Listing(std::move(database), std::move(results)));
}

absl::Status Listing::Find(const ListingRequest& request,
                           const std::function<void(const std::vector<std::string>&)>& on_row) {
  ISO_RETURN_IF_ERROR(CheckLevels(request));
  std::vector<std::string> columns;
  for (const Field field : request.fields) columns.push_back(ColumnOf(field));
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.SetFunction(kFilter, [&](int64_t number, absl::string_view value) {
    return request.conditions[static_cast<size_t>(number)].accepts(value);
  }));
  Conditions conditions = ConditionsOf(request);
  int64_t first = request.offset;
  const bool by_series = AsksForSeriesAlone(request);
  if (by_series) {
    ISO_ASSIGN_OR_RETURN(const Stretch stretch, StretchOf(request));
    if (stretch.series.empty()) return absl::OkStatus();
    conditions.Add(absl::StrCat("r.key IN (", absl::StrJoin(stretch.series, ","), ")"));
    first = stretch.first;
  }
  const std::string where = conditions.Where();
  const std::string limit = conditions.AddValue(request.limit);
  const std::string offset = conditions.AddValue(first);
  const std::string order = OrderOf(request.level);
  const std::string sql = absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM (",
                                       KeysOf(request, by_series), where, order, " LIMIT ", limit,
                                       " OFFSET ", offset, ") k", TablesOf(request.level), order);
  std::vector<std::string> values(request.fields.size());
  return database_.Query(sql, conditions.values(), [&](const Row& row) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = row.Text(static_cast<int>(i));
      if (request.fields[i] == Field::kFile) values[i] = results_ / values[i];
    }
    on_row(values);
  });
}

absl::StatusOr<Listing::Stretch> Listing::StretchOf(const ListingRequest& request) {
  ListingRequest series = request;
  series.level = ListingLevel::kSeries;
  const Conditions conditions = ConditionsOf(series);
  Stretch stretch;
  int64_t before = 0;  // instances of the series that were walked
  const auto take = [&](const Row& row) {
    const int64_t count = row.Integer(2);
    if (before + count > request.offset) {
      if (stretch.series.empty()) stretch.first = request.offset - before;
      stretch.series.push_back(row.Integer(1));
    }
    before += count;
    return before < request.offset + request.limit;
  };
  ISO_RETURN_IF_ERROR(database_.QueryWhile(
      absl::StrCat(KeysOf(series, false), conditions.Where(), OrderOf(series.level)),
      conditions.values(), take));
  return stretch;
}

}  // namespace isocenter::archive
