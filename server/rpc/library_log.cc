#include "server/rpc/library_log.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/base/handshake_log.h"
#include "server/base/log.h"
#include "server/crypto/handshake_failure.h"

namespace isocenter::rpc {
namespace {

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
  crypto::WatchRefusals();
  gpr_set_log_function([](gpr_log_func_args* arguments) {
    // Who has the wrong certificate, or none, learns little from its own side.
    if (absl::StrContains(arguments->message, "Handshake failed")) {
      const std::string why = crypto::HandshakeFailure(arguments->message);
      LogHandshake("grpc", "", why);  // gRPC does not say with whom
      return Tell(why);
    }
    spdlog::debug("event=grpc_message text=\"{}\"", arguments->message);
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        spdlog::debug("event=protobuf_message text=\"{}\"", message);
      });
}

}  // namespace isocenter::rpc
