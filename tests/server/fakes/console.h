// A console at the pipeline's border: what a stream does, without the network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/pipeline/reconstruction_job.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::testing {

/// One stream of frames into a job.
class Console : public pipeline::FrameProducer {
 public:
  /// Attaches to the job.
  static absl::StatusOr<std::shared_ptr<Console>> Attach(
      const std::shared_ptr<pipeline::ReconstructionJob>& job) {
    auto console = std::make_shared<Console>();
    absl::StatusOr<int64_t> stream = job->Attach(console);
    if (!stream.ok()) return stream.status();
    console->job_ = job;
    console->stream_ = *stream;
    return console;
  }

  /// What stands for frames; the default is SmallFrame.
  std::function<std::string(int view)> pixels;
  /// Of every frame; 0: it is not told.
  float dose = 0;
  /// What frames tell of their phases; null: nothing.
  std::function<std::optional<float>(int view)> phase;

  /// Sends one frame, in two pieces of odd length, and waits for room as a stream does.
  absl::Status SendOne(int view, std::optional<uint32_t> crc32c = std::nullopt) {
    const auto bytes = std::make_shared<const std::string>(
        pixels ? pixels(view) : SmallFrame(job_->request().acquisition, view));
    {
      absl::MutexLock lock(&mutex_);
      room_ = false;
    }
    const auto whole = std::as_bytes(std::span(*bytes));
    constexpr size_t kFirst = 101;
    const absl::StatusOr<bool> room =
        job_->AddFrame(stream_, {.index = static_cast<uint32_t>(view),
                                 .pixels = {whole.first(kFirst), whole.subspan(kFirst)},
                                 .memory = bytes,
                                 .crc32c = crc32c,
                                 .dose = dose,
                                 .phase = phase ? phase(view) : std::nullopt});
    if (!room.ok()) return room.status();
    if (*room) return absl::OkStatus();
    absl::MutexLock lock(&mutex_);
    const auto news = [this]()
                          ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return room_ || !refusal_.ok(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&news), absl::Seconds(60))) {
      return absl::DeadlineExceededError("no room came");
    }
    return refusal_;
  }
  /// Frames [first, last).
  absl::Status Send(int first, int last) {
    for (int view = first; view < last; ++view) {
      const absl::Status status = SendOne(view);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status Finish() { return job_->FinishInput(stream_); }
  void Detach() { job_->Detach(stream_); }
  void Reject(const absl::Status& why, bool began = true) { job_->Reject(stream_, why, began); }

  /// Why the job takes nothing more from this stream; OK while it does.
  absl::Status refusal() {
    absl::MutexLock lock(&mutex_);
    return refusal_;
  }

  void OnRoom() override {
    absl::MutexLock lock(&mutex_);
    room_ = true;
  }
  void OnRefused(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    refusal_ = why;
  }

 private:
  std::shared_ptr<pipeline::ReconstructionJob> job_;
  int64_t stream_ = 0;
  absl::Mutex mutex_;
  bool room_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::testing
