#include "client/cli/qa/limits_file.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/formats/json_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

absl::Status Illegal(absl::string_view file, const std::string& what, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what, "; legal is ", legal));
}

absl::StatusOr<quality::Limit> LimitOf(absl::string_view file, const std::string& name,
                                       const nlohmann::json& sides) {
  quality::Limit limit{.name = name};
  if (!sides.is_object()) {
    return Illegal(file, absl::StrCat("the limit of ", name, " is ", sides.dump()),
                   "an object with \"min\", \"max\" or both");
  }
  for (const auto& [side, value] : sides.items()) {
    std::optional<double>* const bound = side == "min"   ? &limit.least
                                         : side == "max" ? &limit.most
                                                         : nullptr;
    if (bound == nullptr) {
      return Illegal(file, absl::StrCat("the limit of ", name, " has '", side, "'"),
                     "\"min\", \"max\" or both");
    }
    if (!value.is_number()) {
      return Illegal(file, absl::StrCat(side, " of ", name, " is ", value.dump()), "a number");
    }
    *bound = value.get<double>();
  }
  return limit;
}

}  // namespace

absl::StatusOr<std::vector<quality::Limit>> ParseLimits(absl::string_view text,
                                                        absl::string_view file,
                                                        const std::vector<std::string>& names) {
  ISO_ASSIGN_OR_RETURN(const nlohmann::json json, formats::ParseJsonObject(text, file));
  for (const auto& [member, ignored] : json.items()) {
    if (member == "limits" || member == "comment") continue;
    return Illegal(file, absl::StrCat("there is '", member, "'"), "\"limits\" and \"comment\"");
  }
  const auto found = json.find("limits");
  if (found == json.end() || !found->is_object()) {
    return Illegal(file, "there is no object \"limits\"",
                   "{\"limits\": {\"water_hu\": {\"min\": -4, \"max\": 4}}}");
  }
  std::vector<quality::Limit> limits;
  for (const auto& [name, sides] : found->items()) {
    ISO_ASSIGN_OR_RETURN(limits.emplace_back(), LimitOf(file, name, sides));
  }
  if (const absl::Status legal = quality::CheckLimits(limits, names); !legal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", legal.message()));
  }
  return limits;
}

}  // namespace isocenter::cli
