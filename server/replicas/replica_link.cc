#include "server/replicas/replica_link.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::replicas {
namespace {

// A job is in the spool a moment before it is in the table.
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(5);
constexpr absl::Duration kLongestWaitForRecord = absl::Seconds(30);

// A keeper that is too slow would else be waited for again and again, each time for all of the
// patience.
constexpr int kPatiencesToTrustAgain = 5;

constexpr int kFinish = -1;

}  // namespace

ReplicaLink::ReplicaLink(std::string job_id, std::shared_ptr<jobs::JobSpool> frames,
                         int64_t frame_bytes, const LinkEnvironment& environment)
    : job_id_(std::move(job_id)),
      frame_bytes_(frame_bytes),
      environment_(environment),
      frames_(std::move(frames)) {
  const std::vector<jobs::FrameState> here = frames_->states();
  {
    absl::MutexLock lock(&mutex_);
    for (const jobs::FrameState state : here) {
      states_.push_back(state == jobs::FrameState::kMissing ? State::kNotHere : State::kToSend);
    }
    is_finished_ = frames_->finished();
  }
  thread_ = std::thread([this] { Run(); });
}

ReplicaLink::~ReplicaLink() {
  End();
  thread_.join();
}

void ReplicaLink::Add(int index, Done done) {
  bool is_settled = false;
  {
    absl::MutexLock lock(&mutex_);
    State& state = states_[index];
    if (state == State::kNotHere) state = State::kToSend;
    is_settled = state == State::kKept || is_degraded_ || is_ending_;
    if (!is_settled && done) waiting_.push_back({index, SteadyNow(), std::move(done)});
  }
  if (is_settled && done) done(absl::OkStatus());
}

void ReplicaLink::AddGap(int index) { Add(index, nullptr); }

void ReplicaLink::Finish() {
  absl::MutexLock lock(&mutex_);
  is_finished_ = true;
}

bool ReplicaLink::is_degraded() const {
  absl::MutexLock lock(&mutex_);
  return is_degraded_;
}

bool ReplicaLink::has_ended() const {
  absl::MutexLock lock(&mutex_);
  return is_ending_;
}

std::vector<ReplicaLink::Waiting> ReplicaLink::TakeWaiting() { return std::exchange(waiting_, {}); }

void ReplicaLink::Answer(std::vector<Waiting> waiting) {
  for (Waiting& each : waiting) each.done(absl::OkStatus());
}

bool ReplicaLink::AllKept() const {
  return std::ranges::none_of(
      states_, [](State state) { return state == State::kToSend || state == State::kSent; });
}

int ReplicaLink::NextToSend() const {
  const auto next = std::ranges::find(states_, State::kToSend);
  return next == states_.end() ? kFinish : static_cast<int>(next - states_.begin());
}

void ReplicaLink::Look() {
  {
    absl::MutexLock lock(&mutex_);
    TrustAgain();
    if (waiting_.empty() || SteadyNow() - waiting_.front().since < environment_.patience) return;
  }
  // Before the stream ends, whose end says less.
  Degrade(absl::StrCat("it has not acknowledged a frame within ",
                       absl::FormatDuration(environment_.patience)));
  // What blocks goes on with a new stream.
  absl::MutexLock lock(&mutex_);
  if (stream_ != nullptr) stream_->Cancel();
}

void ReplicaLink::End() {
  std::vector<Waiting> waiting;
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
    if (stream_ != nullptr) stream_->Cancel();
    waiting = TakeWaiting();
  }
  Answer(std::move(waiting));
}

void ReplicaLink::Degrade(const std::string& why) {
  {
    absl::MutexLock lock(&mutex_);
    // Whoever tells of it first answers, too.
    if (is_ending_ || is_degraded_ || is_degrading_) return;
    is_degrading_ = true;
  }
  environment_.on_lost(job_id_, why);
  std::vector<Waiting> waiting;
  {
    absl::MutexLock lock(&mutex_);
    is_degrading_ = false;
    is_degraded_ = true;
    degraded_since_ = SteadyNow();
    waiting = TakeWaiting();
  }
  Answer(std::move(waiting));
}

bool ReplicaLink::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  AwaitFor(mutex_, absl::Condition(&is_ending_), duration);
  return !is_ending_;
}

absl::StatusOr<ReplicaHeader> ReplicaLink::Header() {
  const absl::Time until = SteadyNow() + kLongestWaitForRecord;
  absl::StatusOr<std::string> begun_by = environment_.begun_by(job_id_);
  while (absl::IsNotFound(begun_by.status()) && SteadyNow() < until && Pause(kBetweenLooks)) {
    begun_by = environment_.begun_by(job_id_);
  }
  ISO_RETURN_IF_ERROR(begun_by.status());
  return ReplicaHeader{.origin = environment_.origin,
                       .job_id = job_id_,
                       .begun_by = *std::move(begun_by),
                       .acquisition = frames_->acquisition(),
                       .frames = static_cast<int64_t>(frames_->states().size()),
                       .frame_bytes = frame_bytes_};
}

void ReplicaLink::Run() {
  pthread_setname_np(pthread_self(), "iso-replica");
  const absl::StatusOr<ReplicaHeader> header = Header();
  if (!header.ok()) return End();  // the job has ended, or was never begun
  absl::Duration pause = environment_.first_pause;
  do {
    const std::shared_ptr<ReplicaStream> stream = environment_.keeper.Open();
    {
      absl::MutexLock lock(&mutex_);
      if (is_ending_) break;
      stream_ = stream;
      is_broken_ = false;
      finish_sent_ = false;
    }
    const absl::Time begin = SteadyNow();
    const absl::Status ended = Serve(stream, *header);
    {
      absl::MutexLock lock(&mutex_);
      stream_ = nullptr;
    }
    Degrade(std::string(ended.message()));
    // One that held for a while is tried again soon.
    if (SteadyNow() - begin > environment_.longest_pause) pause = environment_.first_pause;
    if (!Pause(pause)) break;
    pause = std::min(2 * pause, environment_.longest_pause);
  } while (true);
}

absl::Status ReplicaLink::Serve(const std::shared_ptr<ReplicaStream>& stream,
                                const ReplicaHeader& header) {
  ISO_ASSIGN_OR_RETURN(const std::vector<bool> has, stream->Begin(header));
  if (has.size() != static_cast<size_t>(header.frames)) {
    return absl::InternalError(
        absl::StrCat("it speaks of ", has.size(), " frames; the job has ", header.frames));
  }
  Begin(has);
  absl::Status received = absl::OkStatus();
  std::thread receiver([&] {
    for (;;) {
      const absl::StatusOr<int> kept = stream->AwaitKept();
      if (!kept.ok()) {
        received = kept.status();
        break;
      }
      OnKept(*kept);
    }
    absl::MutexLock lock(&mutex_);
    is_broken_ = true;
  });
  const absl::Status sent = SendAll(*stream);
  stream->Cancel();
  receiver.join();
  // How the keeper ended the stream says more than that nothing could be sent.
  return received.ok() || absl::IsCancelled(received) ? sent : received;
}

void ReplicaLink::Begin(const std::vector<bool>& has) {
  std::vector<Waiting> answered;
  {
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < has.size(); ++i) {
      // A frame that only the keeper has was never acknowledged: the console sends it.
      if (states_[i] == State::kNotHere) continue;
      states_[i] = has[i] ? State::kKept : State::kToSend;
    }
    answered = TakeKept();
  }
  Answer(std::move(answered));
}

std::vector<ReplicaLink::Waiting> ReplicaLink::TakeKept() {
  std::vector<Waiting> kept;
  const auto others = std::stable_partition(
      waiting_.begin(), waiting_.end(),
      [this](const Waiting& each) { return states_[each.index] != State::kKept; });
  std::move(others, waiting_.end(), std::back_inserter(kept));
  waiting_.erase(others, waiting_.end());
  return kept;
}

void ReplicaLink::TrustAgain() {
  if (!is_degraded_ || !AllKept()) return;
  if (SteadyNow() - degraded_since_ < kPatiencesToTrustAgain * environment_.patience) return;
  is_degraded_ = false;
  spdlog::info("event=replica_restored job={} keeper={}", job_id_, environment_.keeper_node);
}

std::optional<int> ReplicaLink::Next() {
  absl::MutexLock lock(&mutex_);
  const auto is_due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_ending_ || is_broken_ || NextToSend() != kFinish ||
           (is_finished_ && !finish_sent_ && AllKept());
  };
  mutex_.Await(absl::Condition(&is_due));
  if (is_ending_ || is_broken_) return std::nullopt;
  const int next = NextToSend();
  if (next == kFinish) {
    finish_sent_ = true;
  } else {
    states_[next] = State::kSent;
  }
  return next;
}

absl::Status ReplicaLink::Send(ReplicaStream& stream, int index) {
  if (index == kFinish) return stream.SendFinish();
  std::string pixels(frame_bytes_, '\0');
  const absl::StatusOr<jobs::FrameMeasurement> measurement =
      frames_->Read(index, std::as_writable_bytes(std::span(pixels)));
  if (measurement.ok()) return stream.SendFrame(index, std::move(pixels), *measurement);
  if (frames_->states()[index] == jobs::FrameState::kGap) return stream.SendGap(index);
  // Lost here by now: the console sends it again, and then it is added again.
  absl::MutexLock lock(&mutex_);
  states_[index] = State::kNotHere;
  return absl::OkStatus();
}

absl::Status ReplicaLink::SendAll(ReplicaStream& stream) {
  while (const std::optional<int> next = Next()) ISO_RETURN_IF_ERROR(Send(stream, *next));
  return absl::CancelledError("the stream has ended");
}

void ReplicaLink::OnKept(int index) {
  std::vector<Waiting> answered;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_of_ours = index >= 0 && index < static_cast<int>(states_.size());
    if (!is_of_ours || states_[index] != State::kSent) return;
    states_[index] = State::kKept;
    answered = TakeKept();
  }
  Answer(std::move(answered));
}

}  // namespace isocenter::replicas
