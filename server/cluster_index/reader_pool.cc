#include "server/cluster_index/reader_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/backoff.h"
#include "server/cluster_index/schema.h"

namespace isocenter::cluster_index {
namespace {

constexpr absl::Duration kLongestConnect = absl::Seconds(5);
constexpr absl::Duration kLook = absl::Milliseconds(500);  // at idle connections

}  // namespace

ReaderPool::ReaderPool(ConnectionParameters parameters, absl::Duration longest_statement,
                       State& state)
    : parameters_(std::move(parameters)),
      longest_statement_(longest_statement),
      state_(state),
      thread_([this] { Run(); }) {}

ReaderPool::~ReaderPool() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  thread_.join();
}

bool ReaderPool::IsStopping() const {
  absl::MutexLock lock(&mutex_);
  return is_stopping_;
}

absl::StatusOr<std::unique_ptr<Connection>> ReaderPool::Take(absl::Time deadline) {
  const auto is_settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !idle_.empty() || !away_.ok() || is_stopping_;
  };
  absl::MutexLock lock(&mutex_);
  for (;;) {
    if (!mutex_.AwaitWithDeadline(absl::Condition(&is_settled), deadline)) {
      return absl::DeadlineExceededError("all connections to the shared index are in use");
    }
    if (is_stopping_) return absl::UnavailableError("the service stops");
    if (idle_.empty()) return away_;
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->IsAlive()) return connection;
    ++missing_;
  }
}

void ReaderPool::GiveBack(std::unique_ptr<Connection> connection) {
  const bool is_alive = connection->IsAlive();
  absl::MutexLock lock(&mutex_);
  if (is_alive) {
    idle_.push_back(std::move(connection));
  } else {
    ++missing_;
  }
}

absl::StatusOr<std::unique_ptr<Connection>> ReaderPool::Open() {
  const absl::Time deadline = absl::Now() + kLongestConnect;
  const auto stops = [this] { return IsStopping(); };
  ISO_ASSIGN_OR_RETURN(auto connection, Connection::Open(parameters_, deadline, stops));
  ISO_RETURN_IF_ERROR(Prepare(*connection, longest_statement_, deadline));
  ISO_RETURN_IF_ERROR(connection->Execute("SET default_transaction_read_only = on", {}, deadline));
  ISO_RETURN_IF_ERROR(CheckVersion(*connection, deadline));
  return connection;
}

void ReaderPool::Run() {
  Backoff backoff(absl::Milliseconds(200), absl::Seconds(5));
  const auto is_wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || missing_ > 0;
  };
  const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_; };
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      AwaitFor(mutex_, absl::Condition(&is_wanted), kLook);
      if (is_stopping_) return;
      missing_ += std::erase_if(idle_, [](const auto& each) { return !each->IsAlive(); });
      if (missing_ == 0) continue;
    }
    absl::StatusOr<std::unique_ptr<Connection>> opened = Open();
    const absl::Status status = opened.status();
    {
      absl::MutexLock lock(&mutex_);
      if (is_stopping_) return;
      away_ = status;
      if (status.ok()) {
        idle_.push_back(*std::move(opened));
        --missing_;
        backoff.Succeed();
      }
    }
    state_.Set(State::Part::kReading, status);
    if (status.ok()) continue;
    absl::MutexLock lock(&mutex_);
    AwaitFor(mutex_, absl::Condition(&stops), backoff.Fail());
  }
}

}  // namespace isocenter::cluster_index
