#include "client/cli/output/json_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/flags/standard_output.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"

namespace isocenter::cli {
namespace {

absl::Status Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return flags::FlushStandardOutput();
}

}  // namespace

std::string JsonTime(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                          absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos()),
                          absl::UTCTimeZone());
}

nlohmann::ordered_json WithoutUnknown(nlohmann::ordered_json document) {
  const bool is_object = document.is_object();
  for (auto member = document.begin(); member != document.end();) {
    if (is_object && member->is_string() && member->get_ref<const std::string&>().empty()) {
      member = document.erase(member);
      continue;
    }
    if (member->is_structured()) *member = WithoutUnknown(std::move(*member));
    ++member;
  }
  return document;
}

flags::Option JsonOutput::AddFlag(flags::Command command) {
  return command
      .Add("--json", path_,
           "also write the result as JSON to FILE; without FILE, or with -, to standard output in "
           "place of the text")
      .Type("FILE")
      .OptionalValue("-");
}

absl::Status JsonOutput::Check(std::vector<std::filesystem::path> inputs) const {
  if (path_.empty() || on_standard_output()) return absl::OkStatus();
  return formats::CheckFileDestination(
      {.flag = "--json", .path = path_, .is_json = true, .inputs = std::move(inputs)});
}

absl::Status JsonOutput::Report(const std::string& text,
                                const nlohmann::ordered_json& document) const {
  if (path_.empty()) return Print(text);
  // Texts of others, e.g. of a worklist, may be no UTF-8.
  const std::string json = WithoutUnknown(document).dump(
                               2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                           "\n";
  if (on_standard_output()) return flags::PrintDocument(json);
  if (absl::Status printed = Print(text); !printed.ok()) return printed;
  return formats::WriteText(path_, json);
}

}  // namespace isocenter::cli
