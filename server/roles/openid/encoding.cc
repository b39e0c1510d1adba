#include "server/roles/openid/encoding.h"

#include <set>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace isocenter::openid {
namespace {

constexpr int kDeepest = 8;
constexpr size_t kMostShown = 64;

}  // namespace

std::optional<std::string> DecodeBase64Url(absl::string_view text) {
  std::string bytes;
  // The library also takes padding, blanks and stray bits, with which a text has many forms.
  if (!absl::WebSafeBase64Unescape(text, &bytes) || EncodeBase64Url(bytes) != text) {
    return std::nullopt;
  }
  return bytes;
}

std::string EncodeBase64Url(absl::string_view bytes) { return absl::WebSafeBase64Escape(bytes); }

std::optional<Json> ParseObject(absl::string_view text) {
  std::vector<std::set<std::string>> names;  // of each object around
  bool legal = true;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        names.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        names.pop_back();
        break;
      case Json::parse_event_t::key:
        legal &= names.back().insert(parsed.get<std::string>()).second;
        break;
      default:
        break;
    }
    legal &= depth <= kDeepest;
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  if (!legal || !json.is_object()) return std::nullopt;
  return json;
}

std::optional<std::string> TextOf(const Json& object, absl::string_view name) {
  const auto found = object.find(std::string(name));
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::string Shown(absl::string_view text) {
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMostShown)),
                      text.size() > kMostShown ? "..." : "");
}

}  // namespace isocenter::openid
