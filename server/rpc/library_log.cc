#include "server/rpc/library_log.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/base/log.h"

namespace isocenter::rpc {
namespace {

/// At most one line a second: anybody who reaches the port can fail as often as they like.
void LogHandshake(const char* text) {
  static std::atomic<int64_t> last{0};
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  if (last.exchange(now) == now) return;
  spdlog::warn("event=tls_handshake_failed endpoint=grpc text=\"{}\"", text);
}

}  // namespace

void RedirectLibraryLogs() {
  gpr_set_log_function([](gpr_log_func_args* arguments) {
    // Who has the wrong certificate, or none, learns little from its own side.
    if (absl::StrContains(arguments->message, "Handshake failed")) {
      LogHandshake(arguments->message);
      return;
    }
    spdlog::debug("event=grpc_message text=\"{}\"", arguments->message);
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        spdlog::debug("event=protobuf_message text=\"{}\"", message);
      });
}

}  // namespace isocenter::rpc
