#include "tests/attack/live_room.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/acquisition_stream.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"
#include "tests/fault/small_scan.h"

namespace isocenter::testing {

constexpr absl::Duration kBetweenFrames = absl::Milliseconds(100);

LiveRoom::LiveRoom(const Target& target, std::string name)
    : target_(target), name_(std::move(name)), thread_([this] { Run(); }) {}

LiveRoom::~LiveRoom() {
  if (thread_.joinable()) Stop();
}

LiveRoom::Served LiveRoom::Stop() {
  stopped_ = true;
  thread_.join();
  absl::MutexLock lock(&mutex_);
  return served_;
}

int LiveRoom::scans() const {
  absl::MutexLock lock(&mutex_);
  return served_.scans;
}

void LiveRoom::Run() {
  for (int number = 0; !stopped_; ++number) {
    const absl::Status status = Scan(number);
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      ++served_.scans;
    } else {
      served_.failures.push_back(absl::StrCat(name_, ", scan ", number, ": ", status.ToString()));
    }
  }
}

absl::Status LiveRoom::Scan(int number) {
  std::array<absl::Time, kScanFrames> sent;
  client::AcquisitionStreamOptions options;
  options.on_acknowledged = [&](uint32_t index) {
    absl::MutexLock lock(&mutex_);
    served_.acknowledged_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - sent[index]));
  };
  const client::ServiceChannel channel = target_.Channel(Role::kConsole);
  ISO_ASSIGN_OR_RETURN(const auto stream,
                       client::AcquisitionStream::Open(
                           channel, ScanHeader(absl::StrCat(name_, "-", number)), options));
  for (int i = 0; i < kScanFrames; ++i) {
    absl::SleepFor(kBetweenFrames);
    {
      absl::MutexLock lock(&mutex_);
      sent[i] = absl::Now();
    }
    ISO_RETURN_IF_ERROR(stream->SendFrame(i, ScanFrame(i)));
  }
  ISO_ASSIGN_OR_RETURN(const v1::JobResult result, stream->Finish());
  const std::string& job = stream->accepted().job_id();
  ISO_ASSIGN_OR_RETURN(const std::vector<float> volume, VolumeOf(channel, job));
  if (!SameBits(volume, UndisturbedVolume())) {
    return absl::DataLossError(absl::StrCat("the volume of job ", job, " is another one"));
  }
  // So that the disk and the table of jobs do not grow with the attack.
  return client::JobClient(target_.Channel(Role::kAdministrator)).Delete(job, /*force=*/true);
}

}  // namespace isocenter::testing
