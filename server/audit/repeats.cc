#include "server/audit/repeats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::audit {
namespace {

constexpr size_t kMostSources = 1024;

bool IsOfTheService(Action action) {
  return action == Action::kServiceStart || action == Action::kServiceStop ||
         action == Action::kTrail;
}

/// Views and lists, which a page repeats by itself. A query of DICOM is asked by somebody.
bool IsLooking(const Event& event) {
  if (event.outcome != Outcome::kSuccess) return false;
  return event.action == Action::kView ||
         (event.action == Action::kQuery && event.service != "dicom");
}

/// Without the port, which is another one for every connection; of IPv6 "[::1]:80" as well.
std::string HostOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return address;
  const bool is_bare_ipv6 = address.find(':') != colon && address.find(']') == std::string::npos &&
                            address.find('%') == std::string::npos;
  return is_bare_ipv6 ? address : address.substr(0, colon);
}

std::string SourceOf(const Event& event) {
  return absl::StrCat(event.service, "\n", HostOf(event.actor.address), "\n",
                      event.actor.is_known ? event.actor.name : "");
}

/// The same for events of one kind. Not of the sentence, which may name a number; but only that
/// says which call somebody who is known may not make.
std::string KeyOf(const Event& event) {
  const bool is_call = event.action == Action::kCall && event.actor.is_known;
  return absl::StrCat(Name(event.action), "\n", Name(event.outcome), "\n", SourceOf(event), "\n",
                      event.actor.name, "\n", event.actor.certificate_subject, "\n",
                      event.destination, "\n", absl::StrJoin(event.patient_ids, "\t"), "\n",
                      absl::StrJoin(event.study_uids, "\t"), "\n",
                      absl::StrJoin(event.job_ids, "\t"), "\n", absl::StrJoin(event.query, "\t"),
                      "\n", is_call ? event.detail : "");
}

/// What stands for many events of one source, or, with `of_many`, of many.
Event Merged(const Event& event, bool of_many) {
  Event merged{.action = event.action,
               .outcome = event.outcome,
               .service = event.service,
               .detail = "more than are recorded one by one",
               .time = event.time};
  if (of_many) {
    merged.actor.address = "several";
    return merged;
  }
  merged.actor.address = HostOf(event.actor.address);
  merged.actor.is_known = event.actor.is_known;
  if (event.actor.is_known) merged.actor.name = event.actor.name;
  return merged;
}

}  // namespace

bool IsWithoutEffect(const Event& event) {
  if (IsOfTheService(event.action)) return false;
  if (event.outcome == Outcome::kRefused || event.outcome == Outcome::kFailure) {
    return event.instances == 0;  // of a retrieval that broke, some have gone
  }
  const bool names_data =
      !event.patient_ids.empty() || !event.study_uids.empty() || !event.job_ids.empty();
  return !names_data && !event.actor.is_known;
}

bool Repeats::Spend(const Event& event, bool scarce) {
  if (event.time >= budget_end_ || event.time + options_.period < budget_end_) {
    budget_end_ = event.time + options_.period;
    spent_.clear();
    spent_by_strangers_ = 0;
  }
  if (!event.actor.is_known && (scarce || spent_by_strangers_ >= options_.of_strangers)) {
    return false;
  }
  const std::string source = SourceOf(event);
  if (spent_.size() >= kMostSources && !spent_.contains(source)) return false;
  int& spent = spent_[source];
  if (spent >= options_.per_source) return false;
  ++spent;
  if (!event.actor.is_known) ++spent_by_strangers_;
  return true;
}

void Repeats::Keep(const std::string& key, Kept kept, std::vector<Event>& out) {
  if (kept_.size() >= options_.most_kept) Drop(kept.first.time, out);
  kept.end = kept.first.time + options_.period;
  kept_.insert_or_assign(key, std::move(kept));
  order_.push_back(key);
}

void Repeats::Drop(absl::Time now, std::vector<Event>& out) {
  const auto found = kept_.find(order_.front());
  order_.pop_front();
  Kept& kept = found->second;
  if (kept.further > 0 && kept.is_counted) {
    Event& counted = out.emplace_back(std::move(kept.first));
    counted.count = kept.further;
    counted.since = counted.time;
    counted.time = std::min(now, kept.end);
  }
  kept_.erase(found);
}

std::vector<Event> Repeats::Take(Event event, bool scarce) {
  std::vector<Event> out = Expire(event.time);
  const bool is_looking = IsLooking(event);
  if (!is_looking && !IsWithoutEffect(event)) {
    out.push_back(std::move(event));
    return out;
  }
  const std::string key = KeyOf(event);
  if (const auto known = kept_.find(key); known != kept_.end()) {
    ++known->second.further;
    return out;
  }
  // Who looks at other data each time is recorded each time.
  const bool names_data = !event.patient_ids.empty() || !event.job_ids.empty();
  if ((is_looking && (names_data || event.actor.is_known)) || Spend(event, scarce)) {
    Keep(key, {.first = event, .is_counted = !is_looking}, out);
    out.push_back(std::move(event));
    return out;
  }
  const bool of_many = !event.actor.is_known && !spent_.contains(SourceOf(event));
  Event merged = Merged(event, of_many);
  const std::string merged_key = absl::StrCat("more\n", KeyOf(merged));
  const auto known = kept_.find(merged_key);
  if (known != kept_.end()) {
    ++known->second.further;
  } else {
    Keep(merged_key, {.first = std::move(merged), .further = 1}, out);
  }
  return out;
}

std::vector<Event> Repeats::Expire(absl::Time now) {
  std::vector<Event> out;
  while (!order_.empty()) {
    const absl::Time end = kept_.at(order_.front()).end;
    // A clock that was set back must not keep a period for long.
    if (now < end && end - now <= options_.period) break;
    Drop(now, out);
  }
  return out;
}

absl::Time Repeats::next() const {
  return order_.empty() ? absl::InfiniteFuture() : kept_.at(order_.front()).end;
}

}  // namespace isocenter::audit
