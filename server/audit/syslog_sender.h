// Audit messages to a repository by syslog over TLS. Source: RFC 5425.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/audit/outbox.h"
#include "server/crypto/tls_client.h"

namespace isocenter::audit {

/// Of the repository.
using SyslogOptions = crypto::TlsClientOptions;

/// Sends in order on a thread of its own, and connects again when the connection breaks. What
/// waits meanwhile is the outbox's. Thread-safe.
class SyslogSender {
 public:
  /// `source` names this installation in the messages. Errors: INVALID_ARGUMENT (a file of TLS,
  /// named). That the repository answers is not waited for.
  static absl::StatusOr<std::unique_ptr<SyslogSender>> Start(SyslogOptions options,
                                                             std::string source,
                                                             std::unique_ptr<Outbox> outbox);
  /// Sends what waits, for some seconds at most.
  ~SyslogSender();

  void Send(const NumberedEvent& record);
  /// How many records wait.
  int64_t waiting() const { return outbox_->waiting(); }
  /// The number of the last record that will not be sent again.
  int64_t exported() const { return outbox_->exported(); }

 private:
  SyslogSender(std::unique_ptr<crypto::TlsClient> client, std::string source,
               std::unique_ptr<Outbox> outbox);
  void Run();
  /// Waits for a record or the end; `end` becomes the time by which all has to be sent.
  void Await(absl::Time& end);

  const std::unique_ptr<crypto::TlsClient> client_;  // used by the thread alone
  const std::string source_, host_;
  const std::unique_ptr<Outbox> outbox_;
  absl::Mutex mutex_;
  bool has_news_ ABSL_GUARDED_BY(mutex_) = true;  // of an earlier run
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace isocenter::audit
