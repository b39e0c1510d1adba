#include "server/rpc/callers/proxied_caller.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rpc {
namespace {

constexpr size_t kLongestSubject = 1024;
constexpr size_t kLongestAddress = 64;

absl::StatusOr<std::string> Said(const CallMetadata& metadata, const char* name, size_t longest) {
  const auto [first, last] = metadata.equal_range(name);
  if (first == last || std::next(first) != last) {
    return absl::UnauthenticatedError(absl::StrCat("the proxy says ", std::distance(first, last),
                                                   " times who calls (metadata '", name,
                                                   "'); legal is once"));
  }
  const absl::string_view value(first->second.data(), first->second.size());
  if (value.empty() || value.size() > longest || !std::ranges::all_of(value, absl::ascii_isprint)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the proxy says in ", value.size(), " bytes who calls (metadata '", name,
                     "'); legal are 1 to ", longest, " printable characters"));
  }
  return std::string(value);
}

}  // namespace

std::string CommonNameOf(absl::string_view subject) {
  while (!subject.empty()) {
    size_t end = 0;  // of an attribute
    while (end < subject.size() && subject[end] != ',' && subject[end] != '+') {
      end += subject[end] == '\\' ? 2 : 1;
    }
    absl::string_view attribute = subject.substr(0, end);
    if (absl::ConsumePrefix(&attribute, "CN=")) return std::string(attribute);
    subject.remove_prefix(std::min(end + 1, subject.size()));
  }
  return "";
}

absl::StatusOr<audit::Actor> ProxiedCaller(const CallMetadata& metadata) {
  audit::Actor caller;
  ISO_ASSIGN_OR_RETURN(caller.certificate_subject,
                       Said(metadata, kCallerSubjectMetadata, kLongestSubject));
  ISO_ASSIGN_OR_RETURN(caller.address, Said(metadata, kCallerAddressMetadata, kLongestAddress));
  if (!absl::StrContains(caller.certificate_subject, '=')) {
    return absl::UnauthenticatedError(
        absl::StrCat("the proxy says that '", caller.certificate_subject,
                     "' calls; legal is the subject of a certificate, e.g. \"CN=room-1\""));
  }
  caller.name = CommonNameOf(caller.certificate_subject);
  return caller;
}

}  // namespace isocenter::rpc
