#include "server/node/monitor.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::node {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

/// What is told when it changes.
struct Seen {
  std::vector<Reason> reasons;
  std::optional<Drained> drained;
  std::vector<bool> healthy;
  friend bool operator==(const Seen&, const Seen&) = default;
};

void LogReadiness(const std::vector<Reason>& reasons) {
  if (reasons.empty()) spdlog::info("event=ready");
  for (const Reason& reason : reasons) {
    spdlog::warn("event=not_ready component={} reason=\"{}\"", reason.component, reason.message);
  }
}

}  // namespace

Monitor::Monitor(Node& node, Activity& activity,
                 std::function<void(const std::vector<Reason>&)> changed)
    : node_(node), activity_(activity), changed_(std::move(changed)), thread_([this] { Run(); }) {
  node_.SetListener([this] { Look(); });
}

Monitor::~Monitor() {
  node_.SetListener(nullptr);
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Monitor::Look() {
  absl::MutexLock lock(&mutex_);
  const int64_t mine = ++asked_;
  auto done = [this, mine]()
                  ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return looked_ >= mine || stopping_; };
  mutex_.Await(absl::Condition(&done));
}

void Monitor::Run() {
  pthread_setname_np(pthread_self(), "iso-monitor");
  std::optional<Seen> seen;
  while (true) {
    int64_t asked;
    {
      absl::MutexLock lock(&mutex_);
      asked = asked_;
    }
    Seen now{node_.NotReady(), node_.drained(), {}};
    int64_t queue_chunks = 0;
    for (const DeviceState& device : node_.Devices()) {
      now.healthy.push_back(device.healthy);
      queue_chunks += device.queue_chunks;
    }
    if (!seen || !(now == *seen)) {
      if (!seen || now.reasons != seen->reasons) LogReadiness(now.reasons);
      seen = std::move(now);
      changed_(seen->reasons);
    }
    activity_.OnLoad(node_.active_jobs(), queue_chunks);
    activity_.EndStep(absl::Now());

    absl::MutexLock lock(&mutex_);
    looked_ = asked;
    auto news = [this, asked]()
                    ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || asked_ > asked; };
    AwaitFor(mutex_, absl::Condition(&news), kBetweenLooks);
    if (stopping_) return;
  }
}

}  // namespace isocenter::node
