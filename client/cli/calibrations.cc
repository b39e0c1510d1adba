// isocenter calibrations: what was measured of detectors, as the server keeps it.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/calibration_client.h"
#include "client/cli/commands.h"
#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string name, file, station;
  int limit = 100;
  bool withdrawn = false, overwrite = false;
  JsonOutput json;
};

/// "valid", or why it would not be chosen now.
std::string StateOf(const v1::KeptCalibration& kept) {
  const absl::Time now = absl::Now();
  if (kept.has_withdraw_time()) return "withdrawn";
  if (now < wire::TimeFromProto(kept.label().valid_from())) return "not yet valid";
  return now < wire::TimeFromProto(kept.label().valid_until()) ? "valid" : "expired";
}

/// When a scan of water was last made of water with it. Matrices correct none.
std::string VerifiedText(const v1::CalibrationSet& label) {
  if (label.has_verification()) return LocalTime(label.verification().time());
  return label.geometry_frames() > 0 ? "-" : "no";
}

nlohmann::ordered_json ToJson(const v1::Verification& seen) {
  return {{"verify_time", JsonTime(seen.time())}, {"scan", seen.scan()},
          {"diameter_mm", seen.diameter_mm()},    {"tolerance_hu", seen.tolerance_hu()},
          {"water_hu", seen.water_hu()},          {"cupping_hu", seen.cupping_hu()},
          {"border_hu", seen.border_hu()},        {"air_hu", seen.air_hu()},
          {"noise_hu", seen.noise_hu()}};
}

std::string Parts(const v1::KeptCalibration& kept) { return absl::StrJoin(kept.part(), " "); }

std::string Table(const std::vector<v1::KeptCalibration>& all) {
  std::vector<TableRow> rows = {{"NAME", "STATION", "MODE", "DETECTOR", "KV", "VALID UNTIL",
                                 "STATE", "VERIFIED", "CHECKSUM", "PARTS"}};
  for (const v1::KeptCalibration& kept : all) {
    const v1::CalibrationSet& label = kept.label();
    const double kv = label.tube_voltage_kv();
    rows.push_back({label.name(), label.station_name(), label.detector_mode(),
                    absl::StrCat(label.detector().columns(), "x", label.detector().rows()),
                    kv == 0 ? "any" : absl::StrCat(kv), LocalTime(label.valid_until()),
                    StateOf(kept), VerifiedText(label), absl::StrFormat("%08x", kept.crc32c()),
                    Parts(kept)});
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const v1::KeptCalibration& kept) {
  const v1::CalibrationSet& label = kept.label();
  nlohmann::ordered_json quality = nlohmann::ordered_json::array();
  for (const v1::QualityFigure& figure : label.quality()) {
    quality.push_back(
        {{"name", figure.name()}, {"value", figure.value()}, {"unit", figure.unit()}});
  }
  nlohmann::ordered_json json{
      {"name", label.name()},
      {"station_name", label.station_name()},
      {"detector_mode", label.detector_mode()},
      {"columns", label.detector().columns()},
      {"rows", label.detector().rows()},
      {"tube_voltage_kv", label.tube_voltage_kv()},
      {"valid_from", JsonTime(label.valid_from())},
      {"valid_until", JsonTime(label.valid_until())},
      {"state", StateOf(kept)},
      {"crc32c", absl::StrFormat("%08x", kept.crc32c())},
      {"file_bytes", kept.file_bytes()},
      {"parts", std::vector<std::string>(kept.part().begin(), kept.part().end())},
      {"description", label.description()},
      {"quality", quality}};
  if (label.has_verification()) json["verification"] = ToJson(label.verification());
  return json;
}

absl::Status List(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  v1::ListCalibrationsRequest request;
  request.set_station_name(options.station);
  request.set_withdrawn(options.withdrawn);
  request.set_max_results(options.limit);
  ISO_ASSIGN_OR_RETURN(const v1::ListCalibrationsResponse found,
                       client::CalibrationClient(channel).List(request));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const v1::KeptCalibration& kept : found.calibration()) all.push_back(ToJson(kept));
  ISO_RETURN_IF_ERROR(
      options.json.Report(Table({found.calibration().begin(), found.calibration().end()}), all));
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --limit shows more\n", options.limit);
  }
  return absl::OkStatus();
}

absl::Status AddFile(const Options& options) {
  // What the server would refuse is said without sending it.
  ISO_ASSIGN_OR_RETURN(v1::CalibrationSet set, wire::ReadCalibrationFile("FILE", options.file));
  const std::string name = set.name();
  ISO_RETURN_IF_ERROR(wire::CalibrationFromProto(std::move(set)).status());
  // As it is, bit for bit.
  ISO_ASSIGN_OR_RETURN(const std::string file,
                       ReadRegularFile("FILE", options.file, wire::kMostCalibrationFileBytes));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, TheService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::KeptCalibration kept,
                       client::CalibrationClient(channel).Add(name, file));
  return options.json.Report(Table({kept}), ToJson(kept));
}

absl::Status Get(const Options& options) {
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
      {.flag = "--out", .path = options.file, .replaces = options.overwrite}));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  ISO_ASSIGN_OR_RETURN(formats::OutputFile file, formats::OutputFile::Create(options.file));
  ISO_ASSIGN_OR_RETURN(
      const v1::KeptCalibration kept,
      client::CalibrationClient(channel).Get(options.name, [&](absl::string_view bytes) {
        return file.Write(std::as_bytes(std::span(bytes.data(), bytes.size())));
      }));
  ISO_RETURN_IF_ERROR(file.Commit());
  ISO_RETURN_IF_ERROR(wire::VerifyCalibrationFile(options.file));
  return options.json.Report(Table({kept}), ToJson(kept));
}

absl::Status Withdraw(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, TheService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::KeptCalibration kept,
                       client::CalibrationClient(channel).Withdraw(options.name));
  return options.json.Report(Table({kept}), ToJson(kept));
}

}  // namespace

void AddCalibrationsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "calibrations", "What was measured of detectors: sets that the server keeps");
  command.Footer(
      "Examples:\n  isocenter calibrations list --station room1\n  isocenter calibrations add "
      "room1_90kV.isocal\n  isocenter calibrations get room1_90kV --out room1_90kV.isocal\n  "
      "isocenter calibrations withdraw room1_90kV");
  const auto add = [&](const char* name, const char* help, absl::Status (*does)(const Options&)) {
    flags::Command sub = command.Subcommand(name, help);
    o.json.AddFlag(sub);
    AddServerFlags(sub, o.server);
    sub.Does([=] {
      if (absl::Status s = options->json.Check(); !s.ok()) return s;
      return does(*options);
    });
    return sub;
  };
  flags::Command list = add("list", "List them, newest first", List);
  list.Add("--station", o.station, "only of this station").Type("NAME").Identifier();
  list.AddSwitch("--withdrawn", o.withdrawn, "also those that are withdrawn");
  list.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000);
  flags::Command adding = add("add", "Have the server keep a set, for good", AddFile);
  adding.Add("file", o.file, "the set, as isocenter calibrate writes it").Required().Type("FILE");
  flags::Command get = add("get", "Fetch a set's file", Get);
  get.Add("name", o.name, "name of the set").Required().Type("NAME");
  get.Add("--out", o.file, "file to write").Required().Type("FILE");
  AddOverwriteFlag(get, o.overwrite);
  flags::Command withdraw =
      add("withdraw", "Have a set not be chosen any more; it stays for jobs that use it", Withdraw);
  withdraw.Add("name", o.name, "name of the set").Required().Type("NAME");
}

}  // namespace isocenter::cli
