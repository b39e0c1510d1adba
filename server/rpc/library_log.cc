#include "server/rpc/library_log.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
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

struct HandshakeListener {
  absl::Mutex mutex;
  std::function<void(const std::string& why)> told ABSL_GUARDED_BY(mutex);
};

HandshakeListener& ListenerOfHandshakes() {
  static auto* const listener = new HandshakeListener();  // gRPC's threads outlive main
  return *listener;
}

void Tell(const std::string& why) {
  absl::MutexLock lock(&ListenerOfHandshakes().mutex);
  if (ListenerOfHandshakes().told) ListenerOfHandshakes().told(why);
}

}  // namespace

void TellOfHandshakes(std::function<void(const std::string& why)> told) {
  absl::MutexLock lock(&ListenerOfHandshakes().mutex);
  ListenerOfHandshakes().told = std::move(told);
}

void RedirectLibraryLogs() {
  gpr_set_log_function([](gpr_log_func_args* arguments) {
    // Who has the wrong certificate, or none, learns little from its own side.
    if (absl::StrContains(arguments->message, "Handshake failed")) {
      LogHandshake(arguments->message);
      Tell(arguments->message);
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
