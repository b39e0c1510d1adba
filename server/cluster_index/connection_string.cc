#include "server/cluster_index/connection_string.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/certificates.h"

namespace isocenter::cluster_index {
namespace {

constexpr uint64_t kMostBytes = 4096;

bool IsThisMachine(absl::string_view host) {
  return absl::StartsWith(host, "/") || absl::StartsWith(host, "@") || host == "localhost" ||
         host == "127.0.0.1" || host == "::1";
}

/// Of one of libpq's lists.
bool AreThisMachine(const std::string& hosts) {
  const std::vector<absl::string_view> each = absl::StrSplit(hosts, ',');
  return std::ranges::all_of(each, IsThisMachine);
}

std::string ValueOf(const ConnectionParameters& parameters, absl::string_view keyword) {
  for (const auto& [key, value] : parameters) {
    if (key == keyword) return value;
  }
  return "";
}

}  // namespace

absl::StatusOr<ConnectionParameters> ParseConnectionString(absl::string_view name,
                                                           const std::string& text) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(text.c_str(), &error), PQconninfoFree);
  // Its message may repeat the password.
  PQfreemem(error);
  if (options == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " is not readable; legal is a connection string of libpq, e.g. \"host=db.example.org "
        "dbname=isocenter user=isocenter sslmode=verify-full\""));
  }
  ConnectionParameters parameters;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && *option->val != '\0') {
      parameters.emplace_back(option->keyword, option->val);
    }
  }
  // A service's file would say all this where nobody has looked at it.
  if (!ValueOf(parameters, "service").empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " names a service; legal are its parameters themselves"));
  }
  const std::string host = ValueOf(parameters, "host");
  const std::string address = ValueOf(parameters, "hostaddr");
  if (host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no host; legal is a name, an address or the directory of a socket"));
  }
  const bool is_here = AreThisMachine(host) && (address.empty() || AreThisMachine(address));
  if (!is_here && ValueOf(parameters, "sslmode") != "verify-full") {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has sslmode '", ValueOf(parameters, "sslmode"),
        "' for a host beyond this machine; legal is verify-full: names of patients go there"));
  }
  return parameters;
}

absl::StatusOr<ConnectionParameters> ReadConnectionString(absl::string_view field,
                                                          const std::string& file) {
  ISO_ASSIGN_OR_RETURN(const std::string text, crypto::ReadSecretLine(field, file, kMostBytes));
  return ParseConnectionString(absl::StrCat(field, ": the first line of '", file, "'"), text);
}

}  // namespace isocenter::cluster_index
