// What tests of the audit trail record, and what they find.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "server/audit/event.h"

namespace isocenter::audit {

inline Event TestEvent() {
  return {.action = Action::kQuery,
          .outcome = Outcome::kSuccess,
          .actor = {"WORKSTATION", "10.1.2.3", "CN=ws,O=Hospital"},
          .service = "dicom",
          .patient_ids = {"P<1>&\"2\""},
          .query = {"(0010,0010)=山田*"},
          .matches = 3,
          .time = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone())};
}

inline std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> Lines(const std::filesystem::path& path) {
  return absl::StrSplit(Content(path), '\n', absl::SkipEmpty());
}

/// Those of a file, in its order.
inline std::vector<nlohmann::json> Records(const std::filesystem::path& path) {
  std::vector<nlohmann::json> records;
  for (const std::string& line : Lines(path)) records.push_back(nlohmann::json::parse(line));
  return records;
}

}  // namespace isocenter::audit
