#include "server/rpc/callers/reception.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace isocenter::rpc {

void Reception::Enter(Guest& guest, const std::string& caller, absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  entries_.push_back({&guest, caller, patience, absl::InfiniteFuture()});
  ServeQueue();
}

bool Reception::Leave(Guest& guest) { return Remove(guest, true); }

bool Reception::LeaveQueue(Guest& guest) { return Remove(guest, false); }

bool Reception::Remove(Guest& guest, bool even_if_it_reads) {
  absl::MutexLock lock(&mutex_);
  const auto entry = std::ranges::find(entries_, &guest, &Entry::guest);
  if (entry == entries_.end()) return false;
  if (entry->since != absl::InfiniteFuture() && !even_if_it_reads) return false;
  entries_.erase(entry);
  ServeQueue();
  return true;
}

bool Reception::HasPlaceFor(const std::string& caller) const {
  int taken = 0, of_caller = 0;
  for (const Entry& entry : entries_) {
    if (entry.since == absl::InfiniteFuture()) continue;
    ++taken;
    of_caller += entry.caller == caller;
  }
  return taken < kPlaces && of_caller < kPlaces / 2;
}

void Reception::ServeQueue() {
  for (Entry& entry : entries_) {
    if (entry.since != absl::InfiniteFuture() || !HasPlaceFor(entry.caller)) continue;
    entry.since = clock_();
    entry.guest->Receive();
  }
}

void Reception::Sweep() {
  const absl::Time now = clock_();
  absl::MutexLock lock(&mutex_);
  auto waiting = std::ranges::count(entries_, absl::InfiniteFuture(), &Entry::since);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    // Who came first has read for longest, and makes place for one of those who wait.
    const absl::Duration limit =
        waiting > 0 ? std::min(kLongestTurn, entry->patience) : entry->patience;
    if (now - entry->since < limit) {
      ++entry;
      continue;
    }
    entry->guest->TurnAway(absl::DeadlineExceededError(absl::StrCat(
        "the first message of the call has not come within ", absl::FormatDuration(limit),
        waiting > 0 ? ", and others wait" : "", "; legal is at once")));
    entry = entries_.erase(entry);
    if (waiting > 0) --waiting;
  }
  ServeQueue();
}

}  // namespace isocenter::rpc
