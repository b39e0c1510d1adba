// Keeps the provider's keys, and fetches them anew.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/roles/openid/key_set.h"
#include "server/roles/openid/provider.h"

namespace isocenter::openid {

/// One thread asks the provider; whoever checks a token never waits for the network. What was
/// fetched is kept for as long as the provider cannot be reached: tokens end by themselves.
/// Thread-safe.
class KeyWatch {
 public:
  struct Times {
    absl::Duration usual = absl::Minutes(5);   // between two fetches
    absl::Duration least = absl::Seconds(10);  // whoever asks for one, and after one that failed
  };

  /// `provider` must outlive this.
  KeyWatch(const Provider& provider, Times times);
  ~KeyWatch();

  void Start();

  /// Null: not fetched yet.
  std::shared_ptr<const KeySet> keys() const;
  /// Empty: the provider has not answered yet.
  std::optional<Endpoints> endpoints() const;
  /// A token names a key that is not there. True: the keys are being fetched anew, so that it is
  /// worth to try again; false: they have been within the least time, and it is not among them.
  bool AskForNewKeys();
  /// Waits for a fetch that has begun; false: it takes longer.
  bool AwaitFetch(absl::Duration longest) const;
  /// When the keys were fetched last, or InfinitePast.
  absl::Time fetched_at() const;

 private:
  void Run();
  void FetchOnce();

  const Provider& provider_;
  const Times times_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const KeySet> keys_ ABSL_GUARDED_BY(mutex_);
  std::optional<Endpoints> endpoints_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  absl::Time fetched_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time begun_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of SteadyNow
  bool is_wanted_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::openid
