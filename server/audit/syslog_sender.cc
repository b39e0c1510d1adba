#include "server/audit/syslog_sender.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/audit/audit_message.h"
#include "server/base/backoff.h"
#include "server/base/host_name.h"
#include "server/base/log.h"

namespace isocenter::audit {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(1), kLongestPause = absl::Seconds(60);
constexpr absl::Duration kToFinish = absl::Seconds(3);

}  // namespace

absl::StatusOr<std::unique_ptr<SyslogSender>> SyslogSender::Start(SyslogOptions options,
                                                                  std::string source,
                                                                  std::unique_ptr<Outbox> outbox) {
  ISO_ASSIGN_OR_RETURN(auto client, crypto::TlsClient::Create("audit.syslog", std::move(options)));
  return std::unique_ptr<SyslogSender>(
      new SyslogSender(std::move(client), std::move(source), std::move(outbox)));
}

SyslogSender::SyslogSender(std::unique_ptr<crypto::TlsClient> client, std::string source,
                           std::unique_ptr<Outbox> outbox)
    : client_(std::move(client)),
      source_(std::move(source)),
      host_(HostName()),
      outbox_(std::move(outbox)),
      thread_([this] { Run(); }) {}

SyslogSender::~SyslogSender() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SyslogSender::Send(const NumberedEvent& record) {
  outbox_->Add(record);
  absl::MutexLock lock(&mutex_);
  has_news_ = true;
}

void SyslogSender::Await(absl::Time& end) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](SyslogSender* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
        return self->stopping_ || self->has_news_;
      },
      this));
  has_news_ = false;
  if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now() + kToFinish;
}

void SyslogSender::Run() {
  Backoff backoff(kFirstPause, kLongestPause);
  absl::Time end = absl::InfiniteFuture();
  std::optional<NumberedEvent> oldest = outbox_->Oldest();
  while (true) {
    if (!oldest) {
      Await(end);
      oldest = outbox_->Oldest();
      if (!oldest && end != absl::InfiniteFuture()) return;
      continue;
    }
    if (absl::Now() > end) {
      spdlog::error("event=audit_not_sent messages={}", outbox_->waiting());
      return;
    }
    const absl::Status sent =
        HasMessage(oldest->event)
            ? client_->Send(ToSyslogFrame(*oldest, source_, host_, static_cast<int>(getpid())))
            : absl::OkStatus();
    if (sent.ok()) {
      backoff.Succeed();
      outbox_->MarkSent();
      oldest = outbox_->Oldest();
      absl::MutexLock lock(&mutex_);
      if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now() + kToFinish;
      continue;
    }
    if (backoff.failures() == 0) spdlog::error("audit: syslog repository: {}", sent.ToString());
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), backoff.Fail());
    if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now();
  }
}

}  // namespace isocenter::audit
