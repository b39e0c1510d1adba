#include "server/rpc/addressee.h"

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
  return absl::UnavailableError(absl::StrCat(kNodeMetadata, " is '", wanted.substr(0, kLongest),
                                             "', but this is node '", this_node,
                                             "': check how the proxy routes by that metadata"));
}

}  // namespace isocenter::rpc
