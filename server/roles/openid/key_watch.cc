#include "server/roles/openid/key_watch.h"

#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::openid {

KeyWatch::KeyWatch(const Provider& provider, Times times) : provider_(provider), times_(times) {}

KeyWatch::~KeyWatch() {
  {
    absl::MutexLock lock(&mutex_);
    is_ended_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void KeyWatch::Start() {
  thread_ = std::thread([this] { Run(); });
}

std::shared_ptr<const KeySet> KeyWatch::keys() const {
  absl::MutexLock lock(&mutex_);
  return keys_;
}

std::optional<Endpoints> KeyWatch::endpoints() const {
  absl::MutexLock lock(&mutex_);
  return endpoints_;
}

absl::Time KeyWatch::fetched_at() const {
  absl::MutexLock lock(&mutex_);
  return fetched_at_;
}

bool KeyWatch::AskForNewKeys() {
  absl::MutexLock lock(&mutex_);
  if (is_fetching_ || is_wanted_) return true;
  if (SteadyNow() < begun_at_ + times_.least) return false;
  is_wanted_ = true;
  return true;
}

bool KeyWatch::AwaitFetch(absl::Duration longest) const {
  absl::MutexLock lock(&mutex_);
  const auto is_done = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !is_fetching_ && !is_wanted_;
  };
  return AwaitFor(mutex_, absl::Condition(&is_done), longest);
}

void KeyWatch::Run() {
  const auto has_work = [this]()
                            ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return is_ended_ || is_wanted_; };
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const absl::Duration pause = last_.ok() ? times_.usual : times_.least;
      AwaitFor(mutex_, absl::Condition(&has_work), begun_at_ + pause - SteadyNow());
      if (is_ended_) return;
      is_wanted_ = false;
      is_fetching_ = true;
      begun_at_ = SteadyNow();
    }
    FetchOnce();
  }
}

void KeyWatch::FetchOnce() {
  absl::StatusOr<KeySet> fetched = absl::UnavailableError("not asked");
  // The addresses, too: a provider that moves says so there.
  absl::StatusOr<Endpoints> endpoints = provider_.Discover();
  if (endpoints.ok()) {
    fetched = provider_.FetchKeys(*endpoints);
  } else {
    fetched = endpoints.status();
  }
  absl::MutexLock lock(&mutex_);
  is_fetching_ = false;
  const bool is_first = fetched.ok() && keys_ == nullptr;
  const bool is_news = is_first || last_.ok() != fetched.ok();
  last_ = fetched.status();
  if (!fetched.ok()) {
    // Once for each time that it goes away, as the first success after it.
    if (is_news) {
      spdlog::warn("event=provider_keys_not_fetched issuer=\"{}\" has_older_keys={} error=\"{}\"",
                   provider_.issuer(), keys_ != nullptr, last_.ToString());
    }
    return;
  }
  if (is_news) {
    spdlog::info("event=provider_keys_fetched issuer=\"{}\" keys={}", provider_.issuer(),
                 fetched->size());
  }
  endpoints_ = *std::move(endpoints);
  keys_ = std::make_shared<const KeySet>(*std::move(fetched));
  fetched_at_ = absl::Now();
}

}  // namespace isocenter::openid
