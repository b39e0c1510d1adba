#include "client/cli/qa/seal.h"

#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"

namespace isocenter::cli {
namespace {

constexpr char kMember[] = "checksum";

/// Members by name, numbers as they are read back.
std::string ChecksumOf(nlohmann::json document) {
  document.erase(kMember);
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrFormat("crc32c %08x", Crc32c(std::as_bytes(std::span(text.data(), text.size()))));
}

}  // namespace

void Seal(nlohmann::ordered_json& document) {
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  document[kMember] = ChecksumOf(nlohmann::json::parse(text));
}

absl::Status CheckSeal(const nlohmann::json& document, absl::string_view file) {
  const auto told = document.find(kMember);
  if (told == document.end()) return absl::OkStatus();
  const std::string is = ChecksumOf(document);
  if (told->is_string() && *told == is) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      file, " was edited after it was written: its checksum is ", is, ", and was ", told->dump(),
      "; legal is a file as `isocenter qa --json` wrote it (other tolerances: "
      "--tolerance, when it is made)"));
}

}  // namespace isocenter::cli
