// --json of a command: what it found or made, for programs.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/flags/command.h"

namespace isocenter::cli {

/// "2026-01-31T12:00:00.250Z".
std::string JsonTime(const google::protobuf::Timestamp& time);

/// Without members that are empty texts: what is not known is left out (docs/formats/json.md).
nlohmann::ordered_json WithoutUnknown(nlohmann::ordered_json document);

/// One document in one file or on standard output, where it is then alone. Its fields are those of
/// docs/formats/json.md.
class JsonOutput {
 public:
  /// Declares the flag; this must outlive the parsing.
  flags::Option AddFlag(flags::Command command);

  bool wanted() const { return !path_.empty(); }
  /// Whether the document can be written: before the work. `inputs`: files that are read. Errors:
  /// those of formats::CheckFileDestination.
  absl::Status Check(std::vector<std::filesystem::path> inputs = {}) const;

  /// Where progress goes: standard output, but standard error where the document has that.
  std::FILE* progress() const { return on_standard_output() ? stderr : stdout; }
  /// The result: `text` for people on standard output, unless the document has that, and the
  /// document, WithoutUnknown, where one is wanted. Errors: those of formats::WriteText.
  absl::Status Report(const std::string& text, const nlohmann::ordered_json& document) const;

 private:
  bool on_standard_output() const { return path_ == "-"; }

  std::string path_;
};

}  // namespace isocenter::cli
