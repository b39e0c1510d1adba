#include "client/flags/error_document.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/flags/exit_code.h"

namespace isocenter::flags {
namespace {

/// The end of a message from "legal is" or "did you mean" on; empty where it has none.
absl::string_view Advice(absl::string_view message) {
  size_t begin = absl::string_view::npos;
  for (const absl::string_view word : {"legal is", "legal are", "did you mean"}) {
    begin = std::min(begin, message.find(word));
  }
  return begin == absl::string_view::npos ? "" : message.substr(begin);
}

}  // namespace

bool WantsDocument(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--json=-") return true;
    if (word != "--json") continue;
    return i + 1 == argc || absl::StartsWith(argv[i + 1], "-");
  }
  return false;
}

std::string ErrorDocument(const absl::Status& status, absl::string_view otherwise) {
  const std::string message(status.message());
  const absl::string_view advice = Advice(message);
  nlohmann::ordered_json error = {{"code", absl::StatusCodeToString(status.code())},
                                  {"message", message},
                                  {"hint", std::string(advice.empty() ? otherwise : advice)},
                                  {"exit_code", static_cast<int>(ExitCodeOf(status))}};
  if (const std::string job = JobOf(status); !job.empty()) error["job_id"] = job;
  const nlohmann::ordered_json document = {{"error", std::move(error)}};
  // Texts of others, e.g. names of files, may be no UTF-8.
  return absl::StrCat(
      document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace), "\n");
}

}  // namespace isocenter::flags
