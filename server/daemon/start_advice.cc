#include "server/daemon/start_advice.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace isocenter::daemon {
namespace {

absl::string_view PortAdvice(absl::string_view message) {
  const auto is = [message](int error) { return absl::EndsWith(message, std::strerror(error)); };
  if (is(EADDRINUSE)) {
    return "; legal is a port that no other program has: `ss -ltnp` names who has it";
  }
  if (is(EADDRNOTAVAIL)) return "; legal is an address of this machine: `ip addr` lists them";
  if (is(EACCES)) return "; legal is a port from 1024 on, or with CAP_NET_BIND_SERVICE";
  return "";
}

}  // namespace

absl::Status OfDirectory(absl::string_view field, const std::string& path,
                         const absl::Status& why) {
  if (why.ok()) return why;
  std::string message = absl::StrCat(field, " is ", path, "; ", why.message());
  if (absl::IsPermissionDenied(why) || absl::IsInternal(why)) {
    absl::StrAppend(&message, "; legal is a directory on a writable disk, which this user (uid ",
                    geteuid(), ") may write to");
  }
  return absl::Status(why.code(), message);
}

absl::Status OfAddress(const absl::Status& why) {
  if (why.ok()) return why;
  return absl::Status(why.code(), absl::StrCat(why.message(), PortAdvice(why.message())));
}

}  // namespace isocenter::daemon
