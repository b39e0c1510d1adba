// Which events get a record of their own. What comes again and again is counted, so that nobody
// fills the trail with nothing (docs/adr/0035-strangers-and-the-audit-trail.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/audit/event.h"

namespace isocenter::audit {

struct RepeatOptions {
  absl::Duration period = absl::Minutes(15);
  /// Records of their own that events without effect on anybody's data get in a period: of one
  /// source, and of all whose identity nothing has proven together.
  int per_source = 300, of_strangers = 1500;
  size_t most_kept = 4096;  // kinds of events that are counted at once
};

/// Whether an event changed, showed or moved nobody's data: it was refused, or failed, or names
/// nothing and comes from somebody unknown.
bool IsWithoutEffect(const Event& event);

/// - What was done to somebody's data, what known people did, and what the service itself tells is
///   always recorded, but for views and lists: of these one record for each user, subject and
///   period.
/// - Of events without effect the first of its kind is recorded, and at the end of the period one
///   record with the count of those that followed. A source that has used up its records is counted
///   in one for each kind of action.
/// Not thread-safe.
class Repeats {
 public:
  explicit Repeats(RepeatOptions options = {}) : options_(options) {}

  /// What is to be recorded now that the event has come. `scarce`: the trail is nearly full, and
  /// strangers get no records of their own.
  std::vector<Event> Take(Event event, bool scarce);
  /// The counts of periods that have ended; with `now` in the infinite future, of all.
  std::vector<Event> Expire(absl::Time now);
  /// When there is something to expire; the infinite future: nothing is kept.
  absl::Time next() const;

 private:
  struct Kept {
    Event first;
    int64_t further = 0;
    absl::Time end;
    bool is_counted = true;  // else one record is all
  };
  /// Whether its source may have one more record in this period.
  bool Spend(const Event& event, bool scarce);
  /// Keeps it until its period ends; what had to make room for it is put into `out`.
  void Keep(const std::string& key, Kept kept, std::vector<Event>& out);
  void Drop(absl::Time now, std::vector<Event>& out);

  const RepeatOptions options_;
  std::map<std::string, Kept> kept_;
  std::deque<std::string> order_;  // of their ends
  absl::Time budget_end_ = absl::InfinitePast();
  std::map<std::string, int> spent_;  // by source
  int spent_by_strangers_ = 0;
};

}  // namespace isocenter::audit
