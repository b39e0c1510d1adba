#include "server/rpc/library_log.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  std::function<void(const std::string& address, const std::string& why)> told
      ABSL_GUARDED_BY(mutex);
  std::function<std::vector<std::string>()> hosts ABSL_GUARDED_BY(mutex);
};

HandshakeListener& ListenerOfHandshakes() {
  static auto* const listener = new HandshakeListener();  // gRPC's threads outlive main
  return *listener;
}

void OnHandshakeFailed(absl::string_view message) {
  constexpr int kMostHosts = 4;  // of a line
  const std::string why = crypto::HandshakeFailure(message);
  HandshakeListener& listener = ListenerOfHandshakes();
  absl::MutexLock lock(&listener.mutex);
  std::vector<std::string> hosts;
  if (listener.hosts) hosts = listener.hosts();
  const std::string address = hosts.size() == 1 ? hosts.front() : "";
  if (listener.told) listener.told(address, why);
  if (hosts.size() <= 1) return LogHandshake("grpc", address, why);
  if (hosts.size() > kMostHosts) {
    hosts.resize(kMostHosts);
    hosts.emplace_back("others");
  }
  LogHandshake("grpc", absl::StrCat("one of ", absl::StrJoin(hosts, ", ")), why);
}

}  // namespace

void TellOfHandshakes(
    std::function<void(const std::string& address, const std::string& why)> told) {
  absl::MutexLock lock(&ListenerOfHandshakes().mutex);
  ListenerOfHandshakes().told = std::move(told);
}

void KnowHandshakesBy(std::function<std::vector<std::string>()> hosts) {
  absl::MutexLock lock(&ListenerOfHandshakes().mutex);
  ListenerOfHandshakes().hosts = std::move(hosts);
}

void RedirectLibraryLogs() {
  crypto::WatchRefusals();
  gpr_set_log_function([](gpr_log_func_args* arguments) {
    // Who has the wrong certificate, or none, learns little from its own side.
    if (absl::StrContains(arguments->message, "Handshake failed")) {
      return OnHandshakeFailed(arguments->message);
    }
    spdlog::debug("event=grpc_message text=\"{}\"", arguments->message);
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        spdlog::debug("event=protobuf_message text=\"{}\"", message);
      });
}

}  // namespace isocenter::rpc
