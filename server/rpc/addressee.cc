#include "server/rpc/addressee.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace isocenter::rpc {

absl::Status CheckAddressee(const grpc::ServerContextBase& call, const std::string& this_node) {
  const auto& metadata = call.client_metadata();
  const auto named = metadata.find(kNodeMetadata);
  if (named == metadata.end()) return absl::OkStatus();
  constexpr size_t kLongest = 64;
  const absl::string_view wanted(named->second.data(), named->second.size());
  if (wanted == this_node) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(kNodeMetadata, " is '", wanted.substr(0, kLongest), "', but this is node '",
                   this_node, "': check the name, or how the proxy routes by that metadata"));
}

std::string TraceParentOf(const grpc::ServerContextBase& call) {
  constexpr size_t kLongest = 256;
  const auto told = call.client_metadata().find("traceparent");
  if (told == call.client_metadata().end()) return "";
  return {told->second.data(), std::min(kLongest, told->second.size())};
}

}  // namespace isocenter::rpc
