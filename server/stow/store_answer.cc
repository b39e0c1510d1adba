#include "server/stow/store_answer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace isocenter::stow {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 8;
constexpr size_t kLongestUid = 64;
constexpr char kFailedSopSequence[] = "00081198", kReferencedSopSequence[] = "00081199",
               kReferencedSopInstanceUid[] = "00081155", kFailureReason[] = "00081197";

absl::Status Illegal(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the answer is no store response: ", what));
}

bool IsDicomJson(absl::string_view content_type) {
  const absl::string_view type =
      absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return absl::EqualsIgnoreCase(type, "application/dicom+json") ||
         absl::EqualsIgnoreCase(type, "application/json");
}

std::optional<Json> Parse(absl::string_view text) {
  std::vector<std::set<std::string>> names;  // of each object around
  bool legal = true;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      legal &= names.back().insert(parsed.get<std::string>()).second;
    }
    legal &= depth <= kDeepest;
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  if (!legal || json.is_discarded()) return std::nullopt;
  return json;
}

/// The values of an attribute of a data set; null: it is not there or has none.
const Json* ValuesOf(const Json& data_set, const char* tag) {
  const auto attribute = data_set.find(tag);
  if (attribute == data_set.end() || !attribute->is_object()) return nullptr;
  const auto values = attribute->find("Value");
  return values == attribute->end() || !values->is_array() || values->empty() ? nullptr : &*values;
}

absl::StatusOr<std::string> UidOf(const Json& item) {
  if (!item.is_object()) return Illegal("an item of a sequence is no data set");
  const Json* const values = ValuesOf(item, kReferencedSopInstanceUid);
  if (values == nullptr || !values->front().is_string()) {
    return Illegal("an item without Referenced SOP Instance UID");
  }
  auto uid = values->front().get<std::string>();
  const bool legal =
      !uid.empty() && uid.size() <= kLongestUid &&
      std::ranges::all_of(uid, [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; });
  if (!legal) return Illegal("a Referenced SOP Instance UID is no UID");
  return uid;
}

absl::StatusOr<uint16_t> FailureReasonOf(const Json& item) {
  const Json* const values = ValuesOf(item, kFailureReason);
  const bool legal = values != nullptr && values->front().is_number_unsigned() &&
                     values->front().get<uint64_t>() <= UINT16_MAX;
  if (!legal) return Illegal("a failure without a Failure Reason of 0 to 65535");
  return static_cast<uint16_t>(values->front().get<uint64_t>());
}

}  // namespace

absl::StatusOr<StoreAnswer> ParseStoreAnswer(absl::string_view content_type,
                                             absl::string_view body) {
  if (!IsDicomJson(content_type)) return Illegal("it is not application/dicom+json");
  const std::optional<Json> parsed = Parse(body);
  if (!parsed) return Illegal("it is not JSON, deeper than 8, or has a name twice");
  const bool is_list = parsed->is_array() && parsed->size() == 1;
  const Json& response = is_list ? parsed->front() : *parsed;
  if (!response.is_object()) return Illegal("it is not one data set");
  StoreAnswer answer;
  if (const Json* const items = ValuesOf(response, kReferencedSopSequence)) {
    for (const Json& item : *items) {
      ISO_ASSIGN_OR_RETURN(std::string uid, UidOf(item));
      answer.stored.insert(std::move(uid));
    }
  }
  if (const Json* const items = ValuesOf(response, kFailedSopSequence)) {
    for (const Json& item : *items) {
      ISO_ASSIGN_OR_RETURN(std::string uid, UidOf(item));
      ISO_ASSIGN_OR_RETURN(answer.refused[std::move(uid)], FailureReasonOf(item));
    }
  }
  return answer;
}

}  // namespace isocenter::stow
