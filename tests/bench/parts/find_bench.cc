// isocenter-find-bench: how long the archive's index takes for a query by each key, with many
// instances, by C-FIND and as a search by DICOMweb. Measures; asserts nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/archive/catalog.h"
#include "server/dicom/scp/query.h"
#include "server/dicomweb/search_answer.h"
#include "server/dicomweb/search_request.h"

namespace isocenter::bench {
namespace {

struct Options {
  std::string directory;
  int instances = 100000;
  int instances_per_series = 250;
  int repeats = 20;
};

constexpr char kRequestedProcedure[] = "RP";

/// One study of one series after the other; every third patient has two studies.
absl::Status Fill(const Options& options, archive::Archive& archive) {
  const int count = options.instances / options.instances_per_series;
  for (int i = 0; i < count; ++i) {
    const int patient = i * 3 / 4;
    archive::Result result;
    result.patient = {absl::StrCat("PAT", patient),
                      absl::StrCat("Family", patient, "^Given=山田", patient, "^太郎"), "19700203",
                      "F"};
    result.study = {
        .instance_uid = absl::StrCat("1.2.3.", i + 1),
        .date = absl::StrFormat("20%02d%02d%02d", i / 336 % 100, i / 28 % 12 + 1, i % 28 + 1),
        .time = "101112",
        .accession_number = absl::StrCat("ACC", i)};
    result.series = {.instance_uid = absl::StrCat("1.2.3.", i + 1, ".1"),
                     .modality = "CT",
                     .number = 1,
                     .requested_procedure_id = absl::StrCat(kRequestedProcedure, i)};
    for (int k = 0; k < options.instances_per_series; ++k) {
      result.instances.push_back(
          {.sop_instance_uid = absl::StrCat(result.series.instance_uid, ".", k + 1),
           .sop_class_uid = "1.2.840.10008.5.1.4.1.1.2",
           .number = k + 1,
           .rows = 512,
           .columns = 512,
           .file_name = absl::StrCat(k, ".dcm")});
    }
    ISO_ASSIGN_OR_RETURN(archive::Staging staging, archive.Stage(absl::StrCat("job", i), 0));
    ISO_RETURN_IF_ERROR(archive.Commit(std::move(staging), result));
  }
  return absl::OkStatus();
}

absl::Status Measure(const Options& options, archive::Archive& archive, const char* name,
                     const dicom::KeyValues& keys) {
  ISO_ASSIGN_OR_RETURN(const dicom::Query query,
                       dicom::Query::Parse(dicom::QueryRoot::kPatient, keys));
  std::vector<double> milliseconds;
  int matches = 0;
  for (int i = 0; i < options.repeats; ++i) {
    matches = 0;
    const absl::Time start = absl::Now();
    archive::OwnCatalog catalog(archive);
    archive::Gap gap;
    const auto count = [&](const dicom::KeyValues&) {
      ++matches;
      return true;
    };
    ISO_RETURN_IF_ERROR(query.ForEachMatch(catalog, "BENCH", count, gap));
    milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("%-44s %8d %10.2f %10.2f\n", name, matches, milliseconds[milliseconds.size() / 2],
              milliseconds.back());
  return absl::OkStatus();
}

/// From the parameters of an address to the JSON of the answer.
absl::Status MeasureSearch(const Options& options, archive::Archive& archive, dicom::Level level,
                           const dicomweb::ObjectPath& within, const std::string& parameters) {
  http::Request request;
  request.query = *http::ParseQuery(parameters);
  std::vector<double> milliseconds;
  int64_t matches = 0;
  for (int i = 0; i < options.repeats; ++i) {
    const absl::Time start = absl::Now();
    ISO_ASSIGN_OR_RETURN(const auto search, dicomweb::ParseSearch(level, within, request));
    ISO_ASSIGN_OR_RETURN(const auto listing, dicomweb::ListingOf(search));
    dicomweb::SearchAnswer answer(search, "http://bench/dicomweb");
    ISO_RETURN_IF_ERROR(archive.listing().Find(listing, [&](const auto& row) { answer.Add(row); }));
    const std::string text = answer.TakeText();
    milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
    matches = answer.rows();
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const char* const of = level == dicom::Level::kStudy    ? "/studies"
                         : level == dicom::Level::kSeries ? "/series"
                                                          : "/instances";
  const std::string name =
      absl::StrCat(within.study.empty() ? "" : "/studies/..",
                   within.series.empty() ? "" : "/series/..", of, "?", parameters);
  std::printf("%-64s %8ld %10.2f %10.2f\n", name.c_str(), matches,
              milliseconds[milliseconds.size() / 2], milliseconds.back());
  return absl::OkStatus();
}

absl::Status MeasureSearches(const Options& options, archive::Archive& archive) {
  using dicom::Level;
  const int middle = options.instances / options.instances_per_series / 2;
  const std::string study = absl::StrCat("1.2.3.", middle + 1);
  std::printf("%-64s %8s %10s %10s\n", "search by DICOMweb", "matches", "median ms", "worst ms");
  const struct {
    Level level;
    dicomweb::ObjectPath within;
    std::string parameters;
  } searches[] = {
      {Level::kStudy, {}, "limit=100"},
      {Level::kStudy, {}, "limit=100&offset=200"},
      {Level::kStudy, {}, absl::StrCat("PatientID=PAT", middle)},
      {Level::kStudy, {}, absl::StrCat("PatientName=family", middle, "*")},
      {Level::kStudy, {}, "StudyDate=20000101-20000131"},
      {Level::kStudy, {}, absl::StrCat("StudyInstanceUID=", study)},
      {Level::kStudy, {}, "ModalitiesInStudy=CT&limit=100"},
      {Level::kStudy, {}, "ModalitiesInStudy=MR&limit=100"},
      {Level::kStudy, {}, "PatientName=*given7*&limit=100"},
      {Level::kSeries, {}, "limit=100"},
      {Level::kSeries, {.study = study}, ""},
      {Level::kSeries, {}, "Modality=MR&limit=100"},
      {Level::kImage, {}, "limit=100"},
      {Level::kImage, {}, "limit=1000"},
      {Level::kImage, {}, absl::StrCat("limit=100&offset=", options.instances / 2)},
      {Level::kImage, {}, absl::StrCat("limit=100&offset=", options.instances - 100)},
      {Level::kImage, {.study = study, .series = study + ".1"}, ""},
      {Level::kImage, {}, absl::StrCat("SOPInstanceUID=", study, ".1.1")},
      {Level::kImage, {}, "Modality=MR&limit=100"},
      {Level::kImage, {}, "SOPClassUID=1.2.3&limit=100"},
  };
  for (const auto& search : searches) {
    ISO_RETURN_IF_ERROR(
        MeasureSearch(options, archive, search.level, search.within, search.parameters));
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  const absl::Time start = absl::Now();
  ISO_ASSIGN_OR_RETURN(const auto archive, archive::Archive::Open(options.directory));
  ISO_RETURN_IF_ERROR(Fill(options, *archive));
  std::printf("%d instances in series of %d, filled in %.1f s\n", options.instances,
              options.instances_per_series, absl::ToDoubleSeconds(absl::Now() - start));
  std::printf("%-44s %8s %10s %10s\n", "query", "matches", "median ms", "worst ms");

  constexpr uint32_t kLevel = 0x00080052, kPatientId = 0x00100020, kName = 0x00100010;
  constexpr uint32_t kStudy = 0x0020000d, kSeries = 0x0020000e, kSop = 0x00080018;
  constexpr uint32_t kAccession = 0x00080050, kDate = 0x00080020;
  constexpr auto kProcedure = dicom::InSequence(0x00400275, 0x00401001);
  const int middle = options.instances / options.instances_per_series / 2;
  const std::string patient = absl::StrCat("PAT", middle);
  const std::string study = absl::StrCat("1.2.3.", middle + 1);
  const struct {
    const char* name;
    dicom::KeyValues keys;
  } queries[] = {
      {"PATIENT by Patient ID", {{kLevel, "PATIENT"}, {kPatientId, patient}}},
      {"PATIENT by name", {{kLevel, "PATIENT"}, {kName, absl::StrCat("family", middle, "^*")}}},
      {"STUDY by Patient ID", {{kLevel, "STUDY"}, {kPatientId, patient}}},
      {"STUDY by Patient ID, wildcard", {{kLevel, "STUDY"}, {kPatientId, patient + "*"}}},
      {"STUDY by name", {{kLevel, "STUDY"}, {kName, absl::StrCat("Family", middle, "^Given")}}},
      {"STUDY by name, wildcard",
       {{kLevel, "STUDY"}, {kName, absl::StrCat("family", middle, "*")}}},
      {"STUDY by ideographic name",
       {{kLevel, "STUDY"}, {kName, absl::StrCat("山田", middle, "*")}}},
      {"STUDY by accession number", {{kLevel, "STUDY"}, {kAccession, absl::StrCat("ACC", middle)}}},
      {"STUDY by date", {{kLevel, "STUDY"}, {kDate, "20000115"}}},
      {"STUDY by range of a month", {{kLevel, "STUDY"}, {kDate, "20000101-20000131"}}},
      {"STUDY by Study Instance UID", {{kLevel, "STUDY"}, {kStudy, study}}},
      {"SERIES by Study Instance UID", {{kLevel, "SERIES"}, {kStudy, study}}},
      {"SERIES by Series Instance UID", {{kLevel, "SERIES"}, {kSeries, study + ".1"}}},
      {"SERIES by Requested Procedure ID",
       {{kLevel, "SERIES"}, {kProcedure, absl::StrCat(kRequestedProcedure, middle)}}},
      {"IMAGE by Series Instance UID", {{kLevel, "IMAGE"}, {kSeries, study + ".1"}}},
      {"IMAGE by SOP Instance UID", {{kLevel, "IMAGE"}, {kSop, study + ".1.1"}}},
      {"IMAGE by Patient ID", {{kLevel, "IMAGE"}, {kPatientId, patient}}},
      {"STUDY by name, wildcard first (no index)", {{kLevel, "STUDY"}, {kName, "*given7*"}}},
      {"STUDY, all (no index)", {{kLevel, "STUDY"}}},
  };
  for (const auto& query : queries) {
    ISO_RETURN_IF_ERROR(Measure(options, *archive, query.name, query.keys));
  }
  return MeasureSearches(options, *archive);
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  CLI::App app("Measures queries of the DICOM node over an archive of many instances.");
  isocenter::bench::Options options;
  app.add_option("directory", options.directory, "A directory for the archive, which is removed")
      ->required()
      ->check(CLI::NonexistentPath);
  app.add_option("--instances", options.instances, "Instances in the archive")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--instances_per_series", options.instances_per_series,
                 "1: as multi-frame objects make them")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "Runs of each query")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = isocenter::bench::Run(options);
  std::error_code ignored;
  std::filesystem::remove_all(options.directory, ignored);
  if (status.ok()) return 0;
  std::fprintf(stderr, "isocenter-find-bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
