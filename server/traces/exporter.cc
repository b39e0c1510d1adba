#include "server/traces/exporter.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>

#include "absl/time/clock.h"
#include "server/base/backoff.h"
#include "server/base/log.h"
#include "server/traces/otlp.h"
#include "server/traces/trace_context.h"

namespace isocenter::traces {
namespace {

constexpr size_t kMostInARequest = 512;
constexpr absl::Duration kToSendTheRest = absl::Seconds(2);

bool IsSampled(const jobs::Job& job) {
  const auto context = ParseTraceParent(job.trace_parent);
  return context && context->sampled;
}

}  // namespace

Exporter::Exporter(ExporterOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

Exporter::~Exporter() {
  {
    absl::MutexLock lock(&mutex_);
    stop_by_ = absl::Now() + kToSendTheRest;
  }
  thread_.join();
}

void Exporter::OnJobAccepted(const jobs::Job& job, absl::Time now) {
  if (!IsSampled(job)) return;
  absl::MutexLock lock(&mutex_);
  if (changes_.size() < kMostJobs) changes_[job.id] = {{job.state, now}};
}

void Exporter::OnStateChanged(const jobs::Job& job, absl::Time now) {
  if (!IsSampled(job)) return;
  absl::MutexLock lock(&mutex_);
  // A job that began before a restart has none yet.
  if (!changes_.contains(job.id) && changes_.size() >= kMostJobs) return;
  changes_[job.id].push_back({job.state, now});
}

void Exporter::OnJobEnded(const jobs::Job& job) {
  if (!IsSampled(job)) return;
  absl::MutexLock lock(&mutex_);
  Ended ended{.job = job};
  if (const auto found = changes_.find(job.id); found != changes_.end()) {
    ended.changes = std::move(found->second);
    changes_.erase(found);
  }
  ended.job.preview = nullptr;
  if (ended_.size() >= kMostJobs) return Drop(1);
  ended_.push_back(std::move(ended));
}

void Exporter::OnSent(const jobs::Job& job, const std::string& destination, int64_t instances,
                      int64_t failed, absl::Time end) {
  std::vector<Span> spans = SendSpanOf(job, destination, instances, failed, end);
  absl::MutexLock lock(&mutex_);
  Queue(std::move(spans));
}

ExporterCounts Exporter::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

void Exporter::Drop(size_t spans) { counts_.dropped += static_cast<int64_t>(spans); }

void Exporter::Queue(std::vector<Span> spans) {
  const size_t room = kMostSpans - std::min(kMostSpans, waiting_.size());
  if (spans.size() > room) {
    Drop(spans.size() - room);
    spans.resize(room);
  }
  std::ranges::move(spans, std::back_inserter(waiting_));
}

std::vector<Span> Exporter::SpansOfNext(const Ended& ended) const {
  std::vector<Span> spans = SpansOf(ended.job, ended.changes);
  const absl::StatusOr<std::string> kept = options_.kept_trace(ended.job.id);
  if (kept.ok()) {
    std::ranges::move(DeviceSpansOf(ended.job, spans, *kept), std::back_inserter(spans));
  }
  return spans;
}

void Exporter::SendNext() {
  std::vector<Span> spans;
  {
    absl::MutexLock lock(&mutex_);
    while (!waiting_.empty() && spans.size() < kMostInARequest) {
      spans.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  const std::string json = OtlpJson(options_.resource, spans);
  Backoff backoff(options_.first_retry, options_.longest_retry);
  absl::Status sent = options_.post(json);
  for (bool last = false; absl::IsUnavailable(sent) && !last;) {
    if (backoff.failures() == 0) {
      spdlog::warn("event=traces_not_taken spans={} error=\"{}\"", spans.size(), sent.ToString());
    }
    {
      absl::MutexLock lock(&mutex_);
      const auto stops = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stop_by_ != absl::InfiniteFuture();
      };
      mutex_.AwaitWithTimeout(absl::Condition(&stops), backoff.Fail());
      last = stops();
    }
    sent = options_.post(json);
  }
  absl::MutexLock lock(&mutex_);
  if (sent.ok()) {
    counts_.exported += static_cast<int64_t>(spans.size());
  } else {
    Drop(spans.size());
    spdlog::warn("event=traces_dropped spans={} error=\"{}\"", spans.size(), sent.ToString());
  }
}

void Exporter::Run() {
  pthread_setname_np(pthread_self(), "iso-traces");
  for (;;) {
    std::deque<Ended> ended;
    bool has_spans = false, stops = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return !ended_.empty() || !waiting_.empty() || stop_by_ != absl::InfiniteFuture();
      };
      mutex_.Await(absl::Condition(&wanted));
      stops = stop_by_ != absl::InfiniteFuture();
      ended.swap(ended_);
    }
    for (const Ended& job : ended) {
      std::vector<Span> spans = SpansOfNext(job);
      absl::MutexLock lock(&mutex_);
      Queue(std::move(spans));
    }
    {
      absl::MutexLock lock(&mutex_);
      has_spans = !waiting_.empty();
      if (stops && absl::Now() >= stop_by_) {
        Drop(waiting_.size());
        return;
      }
    }
    if (has_spans) {
      SendNext();
    } else if (stops) {
      return;
    }
  }
}

void Transmissions::Record(audit::Event event) {
  if (event.action == audit::Action::kTransmit) {
    for (const std::string& id : event.job_ids) {
      const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(id);
      if (job.ok()) {
        exporter_.OnSent(**job, event.destination, event.instances, event.failed, absl::Now());
      }
    }
  }
  next_.Record(std::move(event));
}

}  // namespace isocenter::traces
