#include "server/cluster_index/publisher.h"

#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"
#include "server/cluster_index/publication.h"
#include "server/cluster_index/schema.h"

namespace isocenter::cluster_index {
namespace {

constexpr absl::Duration kLongestConnect = absl::Seconds(5);
// Nobody waits for it; a result of 4096 objects takes a tenth of a second.
constexpr absl::Duration kLongestStep = absl::Seconds(30);
constexpr absl::Duration kIdle = absl::Seconds(1);
constexpr int kChangesAtOnce = 50;

std::function<double()> RandomDraw() {
  return [engine = std::make_shared<std::mt19937>(std::random_device()())] {
    return std::uniform_real_distribution<double>(0, 1)(*engine);
  };
}

}  // namespace

Publisher::Publisher(PublisherOptions options, archive::IndexChanges& changes, State& state)
    : options_(std::move(options)),
      changes_(changes),
      state_(state),
      backoff_(options_.first_retry, options_.longest_retry, RandomDraw()),
      thread_([this] { Run(); }) {
  changes_.SetListener([this] { Wake(); });
}

Publisher::~Publisher() {
  changes_.SetListener(nullptr);
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  thread_.join();
}

bool Publisher::IsStopping() const {
  absl::MutexLock lock(&mutex_);
  return is_stopping_;
}

void Publisher::Wake() {
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
}

void Publisher::WaitForWork(absl::Duration longest) {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || is_woken_;
  };
  absl::MutexLock lock(&mutex_);
  AwaitFor(mutex_, absl::Condition(&has_work), longest);
  is_woken_ = false;
}

bool Publisher::WaitUntilPublished(absl::Time deadline) {
  // The first round may have begun before the change; after the second, what waits is refused.
  for (int rounds = 0;; ++rounds) {
    const absl::StatusOr<int64_t> waiting = changes_.Count();
    // Before it has joined, what it has is not noted as waiting.
    if (!state_.is_up()) return false;
    if (waiting.ok() && *waiting == 0) return true;
    if (rounds == 2) return false;
    absl::MutexLock lock(&mutex_);
    is_woken_ = true;
    const int64_t seen = rounds_;
    const auto has_news = [this, seen]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_stopping_ || rounds_ != seen;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&has_news), deadline) || is_stopping_) {
      return false;
    }
  }
}

int64_t Publisher::waiting() const {
  const absl::StatusOr<int64_t> count = changes_.Count();
  return count.ok() ? *count : -1;
}

void Publisher::Run() {
  while (!IsStopping()) {
    const absl::Status status = Serve();
    if (IsStopping()) return;
    state_.Set(State::Part::kPublishing, status);
    // A change does not make the database come back earlier.
    const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_; };
    absl::MutexLock lock(&mutex_);
    AwaitFor(mutex_, absl::Condition(&stops), backoff_.Fail());
  }
}

absl::Status Publisher::Join(Connection& connection) {
  const absl::Time deadline = absl::Now() + kLongestStep;
  ISO_RETURN_IF_ERROR(Prepare(connection, kLongestStep, deadline));
  ISO_RETURN_IF_ERROR(Migrate(connection, deadline));
  // It is held as long as the connection lives.
  bool is_ours = false;
  ISO_RETURN_IF_ERROR(connection.Query(
      "SELECT pg_try_advisory_lock(hashtextextended('isocenter node ' || $1, 0))", {options_.node},
      deadline, [&](const Row& row) { is_ours = row.Text(0) == "t"; }));
  if (!is_ours) {
    return absl::UnavailableError(
        absl::StrCat("another process publishes as node '", options_.node,
                     "'; legal is a cluster.node_name that no other node has"));
  }
  ISO_ASSIGN_OR_RETURN(const std::string generation, changes_.Generation());
  ISO_ASSIGN_OR_RETURN(const bool is_known,
                       IsKnown(connection, options_.node, generation, deadline));
  if (!is_known) {
    ISO_RETURN_IF_ERROR(changes_.AddAll());
    spdlog::info("event=shared_index_anew node={}", options_.node);
    return BeginAnew(connection, options_.node, generation, kLongestStep);
  }
  ISO_ASSIGN_OR_RETURN(const int64_t waiting, changes_.Count());
  return SetComplete(connection, options_.node, waiting == 0, absl::Now() + kLongestStep);
}

absl::StatusOr<bool> Publisher::PublishSome(Connection& connection) {
  int64_t key = 0;
  for (;;) {
    ISO_ASSIGN_OR_RETURN(const auto changes, changes_.After(key, kChangesAtOnce));
    if (changes.empty()) return refused_.empty();
    for (const archive::IndexChange& change : changes) {
      key = change.key;
      if (refused_.contains(change.key)) continue;
      ISO_ASSIGN_OR_RETURN(const archive::StoredResult result, changes_.ResultOf(change.job_id));
      const absl::Status status =
          Publish(connection, options_.node, change.job_id, result, absl::Now() + kLongestStep);
      if (absl::IsInvalidArgument(status)) {
        // Tried again after the next start, or when the job changes.
        refused_.insert(change.key);
        spdlog::error("event=shared_index_refused job={} error=\"{}\"", change.job_id,
                      status.ToString());
        ISO_RETURN_IF_ERROR(
            SetComplete(connection, options_.node, false, absl::Now() + kLongestStep));
        continue;
      }
      ISO_RETURN_IF_ERROR(status);
      ISO_RETURN_IF_ERROR(changes_.Remove(change));
    }
  }
}

absl::Status Publisher::Serve() {
  ISO_ASSIGN_OR_RETURN(const auto connection,
                       Connection::Open(options_.connection, absl::Now() + kLongestConnect,
                                        [this] { return IsStopping(); }));
  ISO_RETURN_IF_ERROR(Join(*connection));
  state_.Set(State::Part::kPublishing, absl::OkStatus());
  backoff_.Succeed();
  bool is_told_complete = false;
  while (!IsStopping()) {
    if (!connection->IsAlive()) return absl::UnavailableError("PostgreSQL has gone");
    ISO_ASSIGN_OR_RETURN(const bool is_all, PublishSome(*connection));
    if (is_all && !is_told_complete) {
      ISO_RETURN_IF_ERROR(
          SetComplete(*connection, options_.node, true, absl::Now() + kLongestStep));
    }
    is_told_complete = is_all;
    {
      absl::MutexLock lock(&mutex_);
      ++rounds_;
    }
    WaitForWork(kIdle);
  }
  return absl::CancelledError("stopped");
}

}  // namespace isocenter::cluster_index
