#include "server/audit/syslog_sender.h"

#include <unistd.h>

#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/audit/audit_message.h"
#include "server/base/backoff.h"
#include "server/base/host_name.h"
#include "server/base/log.h"

namespace isocenter::audit {
namespace {

constexpr size_t kMaximumWaiting = 20000;
constexpr absl::Duration kFirstPause = absl::Seconds(1), kLongestPause = absl::Seconds(60);
constexpr absl::Duration kToFinish = absl::Seconds(3);

}  // namespace

absl::StatusOr<std::unique_ptr<SyslogSender>> SyslogSender::Start(SyslogOptions options,
                                                                  std::string source) {
  ISO_ASSIGN_OR_RETURN(auto client, crypto::TlsClient::Create("audit.syslog", std::move(options)));
  return std::unique_ptr<SyslogSender>(new SyslogSender(std::move(client), std::move(source)));
}

SyslogSender::SyslogSender(std::unique_ptr<crypto::TlsClient> client, std::string source)
    : client_(std::move(client)),
      source_(std::move(source)),
      host_(HostName()),
      thread_([this] { Run(); }) {}

SyslogSender::~SyslogSender() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SyslogSender::Send(const Event& event) {
  if (!HasMessage(event)) return;
  std::string frame = ToSyslogFrame(event, source_, host_, static_cast<int>(getpid()));
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= kMaximumWaiting) {
    waiting_.pop_front();
    if (given_up_++ == 0) {
      spdlog::error("audit: more than {} messages wait for the repository; the oldest are lost",
                    kMaximumWaiting);
    }
  }
  waiting_.push_back(std::move(frame));
}

void SyslogSender::Run() {
  Backoff backoff(kFirstPause, kLongestPause);
  absl::Time end = absl::InfiniteFuture();
  while (true) {
    std::string frame;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](SyslogSender* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->stopping_ || !self->waiting_.empty();
          },
          this));
      if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now() + kToFinish;
      if (waiting_.empty() || absl::Now() > end) {
        if (!waiting_.empty()) {
          spdlog::error("audit: {} messages were not sent to the repository", waiting_.size());
        }
        return;
      }
      frame = waiting_.front();
    }
    const absl::Status sent = client_->Send(frame);
    absl::MutexLock lock(&mutex_);
    if (sent.ok()) {
      if (!waiting_.empty() && waiting_.front() == frame) waiting_.pop_front();
      if (given_up_ > 0) spdlog::error("audit: {} messages were lost", given_up_);
      given_up_ = 0;
      backoff.Succeed();
      continue;
    }
    if (backoff.failures() == 0) spdlog::error("audit: syslog repository: {}", sent.ToString());
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), backoff.Fail());
    if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now();
  }
}

}  // namespace isocenter::audit
