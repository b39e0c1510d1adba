// isocenter-shared-index-bench: how long the index that nodes share takes for a query by each key,
// with many instances of another node. Measures; asserts nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/cluster_index/cluster_index.h"
#include "server/cluster_index/connection.h"

namespace isocenter::bench {
namespace {

struct Options {
  std::string connection, directory;
  int instances = 1000000;
  int instances_per_series = 250;
  int repeats = 300;
};

/// One study of one series after the other, as node "other" would have told them; every third
/// patient has two studies.
absl::Status Fill(const Options& options, cluster_index::Connection& connection) {
  const int studies = options.instances / options.instances_per_series;
  const std::string each = absl::StrCat(" FROM generate_series(0, ", studies - 1, ") AS g (n)");
  const std::string statements[] = {
      "SET search_path = isocenter",
      "INSERT INTO nodes VALUES ('other', 'bench', true)",
      absl::StrCat("INSERT INTO patients (identity, id, name, birth_date, sex, commit_time_us) "
                   "SELECT DISTINCT 'id:PAT' || n * 3 / 4, 'PAT' || n * 3 / 4, 'Family' || "
                   "n * 3 / 4 || '^Given', '19700203', 'F', 0",
                   each),
      "INSERT INTO patient_names (name, patient_key) SELECT lower(name), key FROM patients",
      absl::StrCat("INSERT INTO studies (patient_key, instance_uid, date, time, accession_number, "
                   "id, description, referring_physician_name, commit_time_us) "
                   "SELECT p.key, '1.2.3.' || n + 1, to_char(date '2000-01-01' + n % 9000, "
                   "'YYYYMMDD'), '101112', 'ACC' || n, '', '', '', 0",
                   each, " JOIN patients p ON p.identity = 'id:PAT' || n * 3 / 4"),
      "INSERT INTO series (study_key, node, job_id, instance_uid, number, modality, date, time, "
      "description, body_part_examined, protocol_name, station_name, manufacturer, "
      "frame_of_reference_uid, directory, instance_count, requested_procedure_id, "
      "scheduled_step_id) SELECT key, 'other', 'job' || key, instance_uid || '.1', 1, 'CT', date, "
      "time, '', 'HEAD', 'fdk', 'room', 'Isocenter', '1.2', 'job' || key, " +
          absl::StrCat(options.instances_per_series) +
          ", 'RP' || accession_number, '' FROM studies",
      "INSERT INTO instances SELECT key, n, instance_uid || '.' || n + 1, "
      "'1.2.840.10008.5.1.4.1.1.2', n + 1, 512, 512, 'dicom/' || n || '.dcm' FROM series, "
      "generate_series(0, " +
          absl::StrCat(options.instances_per_series - 1, ") AS g (n)"),
      "ANALYZE"};
  for (const std::string& sql : statements) {
    ISO_RETURN_IF_ERROR(connection.Execute(sql, {}, absl::Now() + absl::Minutes(30)));
  }
  return absl::OkStatus();
}

using Ask = std::function<absl::StatusOr<size_t>(archive::Gap& gap)>;

absl::Status Measure(const Options& options, const char* name, const Ask& ask) {
  std::vector<double> milliseconds;
  size_t rows = 0;
  for (int i = 0; i < options.repeats; ++i) {
    archive::Gap gap;
    const absl::Time start = absl::Now();
    ISO_ASSIGN_OR_RETURN(rows, ask(gap));
    milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
    if (!gap.empty()) return absl::UnavailableError(gap);
  }
  std::ranges::sort(milliseconds);
  const auto at = [&](double part) {
    return milliseconds[static_cast<size_t>(part * static_cast<double>(milliseconds.size() - 1))];
  };
  std::printf("%-40s %8zu %10.2f %10.2f %10.2f\n", name, rows, at(0.5), at(0.99), at(1));
  return absl::OkStatus();
}

absl::Status MeasureAll(const Options& options, archive::Catalog& catalog) {
  using archive::Selection;
  const int middle = options.instances / options.instances_per_series / 2;
  const std::string study = absl::StrCat("1.2.3.", middle + 1);
  const std::pair<const char*, Selection> queries[] = {
      {"Patient ID", {.patient_ids = {{absl::StrCat("PAT", middle), false}}}},
      {"Patient ID, wildcard", {.patient_ids = {{absl::StrCat("PAT", middle), true}}}},
      {"name, prefix", {.patient_names = {{absl::StrCat("family", middle), true}}}},
      {"accession number", {.accession_numbers = {{absl::StrCat("ACC", middle), false}}}},
      {"a day", {.first_study_date = "20050115", .last_study_date = "20050115"}},
      {"a month", {.first_study_date = "20050101", .last_study_date = "20050131"}},
      {"Study Instance UID", {.study_uids = {study}}},
      {"SOP Instance UID", {.sop_instance_uids = {study + ".1.1"}}},
      {"no key", {}}};
  std::printf("%-40s %8s %10s %10s %10s\n", "query", "rows", "median ms", "99 % ms", "worst ms");
  for (const auto& [name, selection] : queries) {
    ISO_RETURN_IF_ERROR(Measure(options, absl::StrCat("STUDY by ", name).c_str(),
                                [&](archive::Gap& gap) -> absl::StatusOr<size_t> {
                                  ISO_ASSIGN_OR_RETURN(const auto rows,
                                                       catalog.FindStudies(selection, gap));
                                  return rows.size();
                                }));
  }
  ISO_RETURN_IF_ERROR(
      Measure(options, "SERIES of a study", [&](archive::Gap& gap) -> absl::StatusOr<size_t> {
        ISO_ASSIGN_OR_RETURN(const auto rows, catalog.FindSeries({.study_uids = {study}}, gap));
        return rows.size();
      }));
  ISO_RETURN_IF_ERROR(
      Measure(options, "IMAGE of a series", [&](archive::Gap& gap) -> absl::StatusOr<size_t> {
        ISO_ASSIGN_OR_RETURN(const auto rows,
                             catalog.FindInstances(study + ".1", archive::Purpose::kAnswer, gap));
        return rows.size();
      }));
  using archive::Field;
  using archive::ListingLevel;
  const std::pair<const char*, archive::ListingRequest> pages[] = {
      {"/studies, first 100",
       {.level = ListingLevel::kStudy, .fields = {Field::kStudyUid}, .limit = 101}},
      {"/series, first 100",
       {.level = ListingLevel::kSeries, .fields = {Field::kSeriesUid}, .limit = 101}},
      {"/instances, first 100",
       {.level = ListingLevel::kInstance, .fields = {Field::kSopInstanceUid}, .limit = 101}}};
  for (const auto& [name, request] : pages) {
    ISO_RETURN_IF_ERROR(Measure(options, name, [&](archive::Gap& gap) -> absl::StatusOr<size_t> {
      size_t rows = 0;
      ISO_RETURN_IF_ERROR(catalog.FindRows(
          request, [&](const auto&) { ++rows; }, gap));
      return rows;
    }));
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const auto connection,
                       cluster_index::ReadConnectionString("connection", options.connection));
  ISO_ASSIGN_OR_RETURN(const auto archive, archive::Archive::Open(options.directory));
  ISO_ASSIGN_OR_RETURN(const auto index,
                       cluster_index::ClusterIndex::Start({.connection = connection,
                                                           .node = "bench",
                                                           .nodes = {"bench", "other"},
                                                           .answer = absl::Seconds(60)},
                                                          *archive));
  while (!index->is_up()) absl::SleepFor(absl::Milliseconds(50));
  const absl::Time start = absl::Now();
  ISO_ASSIGN_OR_RETURN(const auto filler, cluster_index::Connection::Open(
                                              connection, absl::Now() + absl::Seconds(30)));
  ISO_RETURN_IF_ERROR(Fill(options, *filler));
  std::printf("%d instances in series of %d, filled in %.1f s\n", options.instances,
              options.instances_per_series, absl::ToDoubleSeconds(absl::Now() - start));
  return MeasureAll(options, index->catalog());
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  CLI::App app("Measures queries of the index that nodes share over many instances.");
  isocenter::bench::Options options;
  app.add_option("connection", options.connection,
                 "File with the connection string of an empty PostgreSQL database")
      ->required();
  app.add_option("directory", options.directory, "A directory for an archive, which is removed")
      ->required()
      ->check(CLI::NonexistentPath);
  app.add_option("--instances", options.instances, "Instances in the index")
      ->check(CLI::Range(1000, 10000000))
      ->capture_default_str();
  app.add_option("--instances_per_series", options.instances_per_series, "In each series")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "Runs of each query")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = isocenter::bench::Run(options);
  std::error_code ignored;
  std::filesystem::remove_all(options.directory, ignored);
  if (status.ok()) return 0;
  std::fprintf(stderr, "isocenter-shared-index-bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
