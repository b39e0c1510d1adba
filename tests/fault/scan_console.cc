#include "tests/fault/scan_console.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "tests/fault/small_scan.h"

namespace isocenter::testing {

ScanConsole::ScanConsole(int port, const v1::AcquisitionHeader& header, ScanConsoleOptions options)
    : port_(port), header_(header), options_(options), thread_([this] { Run(); }) {}

ScanConsole::~ScanConsole() {
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (stream_ != nullptr) stream_->Cancel();
  }
  thread_.join();
}

ScanConsole::Told ScanConsole::told() const {
  absl::MutexLock lock(&mutex_);
  Told told = told_;
  if (stream_ != nullptr) told.contacts += static_cast<int>(stream_->reconnects());
  return told;
}

bool ScanConsole::Await(const std::function<bool(const Told&)>& wanted,
                        absl::Duration patience) const {
  const absl::Time give_up = absl::Now() + patience;
  for (;;) {
    const Told now = told();
    if (wanted(now) || now.ended) return true;
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Microseconds(500));
  }
}

void ScanConsole::Continue() {
  absl::MutexLock lock(&mutex_);
  may_continue_ = true;
}

void ScanConsole::Run() {
  const absl::StatusOr<v1::JobResult> result = Stream();
  absl::MutexLock lock(&mutex_);
  if (result.ok()) {
    told_.result = *result;
    told_.state = v1::JOB_STATE_COMPLETED;
  }
  told_.ended = result.status();
}

absl::StatusOr<v1::JobResult> ScanConsole::Stream() {
  ISO_ASSIGN_OR_RETURN(auto opened, Open());
  client::AcquisitionStream* stream = opened.get();
  {
    absl::MutexLock lock(&mutex_);
    told_.job_id = stream->accepted().job_id();
    told_.contacts = 1;
    stream_ = std::move(opened);
    if (cancelled_) stream_->Cancel();
  }
  for (int i = 0; i < kScanFrames; ++i) {
    WaitBefore(i);
    ISO_RETURN_IF_ERROR(stream->SendFrame(i, ScanFrame(i)));
  }
  return stream->Finish();
}

absl::StatusOr<std::unique_ptr<client::AcquisitionStream>> ScanConsole::Open() {
  client::AcquisitionStreamOptions options;
  options.on_acknowledged = [this](uint32_t index) {
    absl::MutexLock lock(&mutex_);
    told_.acknowledged.insert(static_cast<int>(index));
  };
  options.on_interrupted = [this](const absl::Status&) {
    absl::MutexLock lock(&mutex_);
    ++told_.interruptions;
  };
  options.on_progress = [this](const v1::JobProgress& progress) {
    absl::MutexLock lock(&mutex_);
    told_.state = progress.state();
  };
  for (;;) {
    ISO_ASSIGN_OR_RETURN(const auto channel, client::ServiceChannel::Open(
                                                 {.address = absl::StrCat("127.0.0.1:", port_)}));
    auto stream = client::AcquisitionStream::Open(channel, header_, options);
    const bool may_be_the_connection =
        absl::IsUnavailable(stream.status()) || absl::IsInternal(stream.status()) ||
        absl::IsUnknown(stream.status()) || absl::IsCancelled(stream.status());
    absl::MutexLock lock(&mutex_);
    if (stream.ok() || !may_be_the_connection || cancelled_) return stream;
    mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), absl::Milliseconds(20));
  }
}

void ScanConsole::WaitBefore(int frame) {
  absl::SleepFor(options_.between_frames);
  if (frame != options_.stop_before) return;
  const auto may_go_on = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return may_continue_ || cancelled_;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&may_go_on));
}

}  // namespace isocenter::testing
