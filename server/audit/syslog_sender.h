// Audit messages to a repository by syslog over TLS. Source: RFC 5425.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/audit/event.h"
#include "server/crypto/tls_client.h"

namespace isocenter::audit {

/// Of the repository.
using SyslogOptions = crypto::TlsClientOptions;

/// Sends in order on a thread of its own, and connects again when the connection breaks. While the
/// repository cannot be reached a bounded number of messages waits; then the oldest are given up,
/// counted and logged. Thread-safe.
class SyslogSender {
 public:
  /// `source` names this installation in the messages. Errors: INVALID_ARGUMENT (a file of TLS,
  /// named). That the repository answers is not waited for.
  static absl::StatusOr<std::unique_ptr<SyslogSender>> Start(SyslogOptions options,
                                                             std::string source);
  /// Sends what waits, for some seconds at most.
  ~SyslogSender();

  void Send(const Event& event);

 private:
  SyslogSender(std::unique_ptr<crypto::TlsClient> client, std::string source);
  void Run();

  const std::unique_ptr<crypto::TlsClient> client_;  // used by the thread alone
  const std::string source_, host_;
  absl::Mutex mutex_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t given_up_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace isocenter::audit
