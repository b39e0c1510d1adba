#include "server/replicas/replica_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"

namespace isocenter::replicas {
namespace {

// A report may have been made before the copy was begun, and come after it.
constexpr absl::Duration kWrittenOfLate = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<ReplicaStore>> ReplicaStore::Open(StoreOptions options) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<spool::Spool> spool, spool::Spool::Open(options.spool));
  std::unique_ptr<ReplicaStore> store(new ReplicaStore(std::move(options), std::move(spool)));
  store->Load();
  return store;
}

void ReplicaStore::Load() {
  const absl::Time now = options_.clock();
  for (const std::string& id : spool_->Jobs()) {
    const auto opened = spool_->Open(id);
    const absl::StatusOr<Record> record =
        opened.ok() ? DecodeRecord((*opened)->acquisition()) : opened.status();
    if (!record.ok()) {
      spdlog::error("event=replica_damaged job={} error=\"{}\"", id, record.status().ToString());
      continue;
    }
    absl::MutexLock lock(&mutex_);
    entries_[id] = {.origin = record->origin, .written = now};
    heard_[record->origin] = now;
  }
}

absl::Duration ReplicaStore::Silence(const Entry& entry, absl::Time now) const {
  const auto heard = heard_.find(entry.origin);
  return heard == heard_.end() ? absl::InfiniteDuration() : now - heard->second;
}

bool ReplicaStore::IsLost(const Entry& entry, absl::Time now) const {
  return Silence(entry, now) > options_.take_over;
}

bool ReplicaStore::IsOrphan(const Entry& entry, absl::Time now) const {
  return entry.is_wanted || IsLost(entry, now);
}

void ReplicaStore::Touch(const Origin& origin) {
  absl::MutexLock lock(&mutex_);
  heard_[origin] = options_.clock();
}

absl::StatusOr<bool> ReplicaStore::MakeWay(const ReplicaHeader& header) {
  const auto is_settled = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const auto found = entries_.find(header.job_id);
    return found == entries_.end() || !found->second.being_removed;
  };
  mutex_.Await(absl::Condition(&is_settled));
  const auto found = entries_.find(header.job_id);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (entry.being_taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("job ", header.job_id, " is being taken over by this node"));
  }
  if (entry.origin == header.origin) {
    // Nobody removes it while its file is opened, without the lock.
    entry.written = heard_[header.origin] = options_.clock();
    return false;
  }
  if (entry.writers > 0) {
    return absl::AlreadyExistsError(absl::StrCat("a copy of job ", header.job_id,
                                                 " is being written by node ", entry.origin.node));
  }
  entry.being_removed = true;
  return true;
}

absl::StatusOr<std::shared_ptr<jobs::JobSpool>> ReplicaStore::OpenOrCreate(
    const ReplicaHeader& header) {
  const std::string record = EncodeRecord({header.origin, header.begun_by, header.acquisition});
  auto opened = spool_->Open(header.job_id);
  if (absl::IsNotFound(opened.status())) {
    return spool_->Create(header.job_id, record, static_cast<int>(header.frames),
                          header.frame_bytes, options_.promised_bytes());
  }
  ISO_RETURN_IF_ERROR(opened.status());
  // Bytes of frames follow from the acquisition; whoever sends others is refused frame by frame.
  const bool is_same = (*opened)->acquisition() == record &&
                       static_cast<int64_t>((*opened)->states().size()) == header.frames;
  if (is_same) return opened;
  return absl::AlreadyExistsError(
      absl::StrCat("the copy of job ", header.job_id, " is of another acquisition"));
}

absl::StatusOr<std::shared_ptr<ReplicaStore::Writer>> ReplicaStore::Begin(
    const ReplicaHeader& header) {
  ISO_RETURN_IF_ERROR(CheckHeader(header));
  absl::MutexLock beginning(&beginning_);
  if (options_.has_job(header.job_id)) {
    return absl::AlreadyExistsError(absl::StrCat("this node has job ", header.job_id, " itself"));
  }
  bool is_in_the_way = false;
  {
    absl::MutexLock lock(&mutex_);
    ISO_ASSIGN_OR_RETURN(is_in_the_way, MakeWay(header));
  }
  if (is_in_the_way) ISO_RETURN_IF_ERROR(Erase(header.job_id));
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> frames, OpenOrCreate(header));
  absl::MutexLock lock(&mutex_);
  const auto [entry, is_new] = entries_.try_emplace(header.job_id);
  if (entry->second.being_taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("job ", header.job_id, " is being taken over by this node"));
  }
  if (entry->second.being_removed) {
    return absl::UnavailableError(absl::StrCat("the copy of job ", header.job_id, " is removed"));
  }
  entry->second.origin = header.origin;
  entry->second.is_wanted = false;
  ++entry->second.writers;
  entry->second.written = heard_[header.origin] = options_.clock();
  return std::make_shared<Writer>(*this, header.job_id, header.origin, std::move(frames));
}

void ReplicaStore::EndWriting(const std::string& job_id, const Origin& origin) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (entry == entries_.end() || entry->second.origin != origin) return;
  entry->second.writers = std::max(0, entry->second.writers - 1);
  entry->second.written = options_.clock();
}

absl::Status ReplicaStore::Report(const Origin& origin, const std::vector<std::string>& jobs) {
  ISO_RETURN_IF_ERROR(CheckOrigin(origin));
  const absl::flat_hash_set<std::string> needed(jobs.begin(), jobs.end());
  RememberReclaimed(origin, jobs);
  std::vector<std::string> done;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = options_.clock();
    // Of others there is nothing to take over.
    if (const auto heard = heard_.find(origin); heard != heard_.end()) heard->second = now;
    for (auto& [id, entry] : entries_) {
      if (entry.origin != origin || entry.being_taken || entry.being_removed) continue;
      entry.is_wanted = false;  // it lives
      if (needed.contains(id) || entry.writers > 0 || now - entry.written <= kWrittenOfLate) {
        continue;
      }
      entry.being_removed = true;
      done.push_back(id);
    }
  }
  EraseAll(done);
  return absl::OkStatus();
}

void ReplicaStore::RememberReclaimed(const Origin& origin, const std::vector<std::string>& jobs) {
  std::vector<std::string> here, ended;
  std::ranges::copy_if(jobs, std::back_inserter(here), options_.has_active_job);
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, reclaim] : reclaimed_) ended.push_back(id);
  }
  std::erase_if(ended, options_.has_active_job);
  absl::MutexLock lock(&mutex_);
  for (const std::string& id : ended) reclaimed_.erase(id);
  const absl::Time now = options_.clock();
  for (const std::string& id : here) reclaimed_[id].origin = origin;
  for (auto& [id, reclaim] : reclaimed_) {
    if (reclaim.origin == origin) reclaim.heard = now;
  }
}

std::optional<std::string> ReplicaStore::ReclaimedBy(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = reclaimed_.find(job_id);
  if (found == reclaimed_.end() || options_.clock() - found->second.heard > options_.take_over) {
    return std::nullopt;
  }
  return found->second.origin.node;
}

std::vector<std::string> ReplicaStore::Orphans() {
  std::vector<std::string> orphans, expired;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = options_.clock();
    for (auto& [id, entry] : entries_) {
      if (entry.being_taken || entry.being_removed || !IsOrphan(entry, now)) continue;
      if (now - entry.written <= options_.keep) {
        orphans.push_back(id);
        continue;
      }
      spdlog::error("event=replica_expired job={} origin={}", id, entry.origin.node);
      entry.being_removed = true;
      expired.push_back(id);
    }
  }
  EraseAll(expired);
  return orphans;
}

absl::StatusOr<ReplicaStore::Replica> ReplicaStore::Take(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = entries_.find(job_id);
    if (entry == entries_.end() || entry->second.being_taken || entry->second.being_removed ||
        !IsOrphan(entry->second, options_.clock())) {
      return absl::NotFoundError(absl::StrCat("job ", job_id, " has no copy to be taken over"));
    }
    entry->second.being_taken = true;
    entry->second.is_wanted = false;
  }
  Replica replica;
  const absl::Status read = [&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(replica.frames, spool_->Open(job_id));
    ISO_ASSIGN_OR_RETURN(replica.record, DecodeRecord(replica.frames->acquisition()));
    return absl::OkStatus();
  }();
  if (read.ok()) return replica;
  LetGo(job_id, read);
  return read;
}

void ReplicaStore::LetGo(const std::string& job_id, const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (entry == entries_.end()) return;
  entry->second.being_taken = false;
  entry->second.failure = why;
}

void ReplicaStore::Remove(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = entries_.find(job_id);
    if (entry == entries_.end() || entry->second.being_removed) return;
    entry->second.being_removed = true;
  }
  (void)Erase(job_id);  // which says in the log what is wrong
}

absl::StatusOr<ReplicaStore::Entry*> ReplicaStore::Deserted(const std::string& job_id) {
  const auto entry = entries_.find(job_id);
  if (entry == entries_.end() || entry->second.being_removed) {
    return absl::NotFoundError(absl::StrCat("this node keeps no copy of job '", job_id, "'"));
  }
  const absl::Duration silence = Silence(entry->second, options_.clock());
  if (silence > kSilence) return &entry->second;
  return absl::FailedPreconditionError(
      absl::StrCat("node ", entry->second.origin.node, ", whose job ", job_id, " is, was heard of ",
                   absl::FormatDuration(absl::Trunc(silence, absl::Seconds(1))),
                   " ago; legal is a node that has been silent for ",
                   absl::FormatDuration(kSilence), ": cancel the job there, or stop that node"));
}

absl::Status ReplicaStore::Want(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  ISO_ASSIGN_OR_RETURN(Entry* const entry, Deserted(job_id));
  entry->is_wanted = true;
  return absl::OkStatus();
}

bool ReplicaStore::IsWanted(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  return entry != entries_.end() && entry->second.is_wanted;
}

absl::Status ReplicaStore::Drop(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    ISO_ASSIGN_OR_RETURN(Entry* const entry, Deserted(job_id));
    if (entry->being_taken || entry->writers > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the copy of job ", job_id, " is being ",
                       entry->being_taken ? "taken over by this node" : "written",
                       "; legal is one that nobody uses"));
    }
    entry->being_removed = true;
  }
  return Erase(job_id);
}

absl::Status ReplicaStore::Erase(const std::string& job_id) {
  const absl::Status removed = spool_->Remove(job_id);
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (entry == entries_.end()) return removed;
  if (!removed.ok()) {
    entry->second.being_removed = false;
    spdlog::warn("event=replica_not_removed job={} error=\"{}\"", job_id, removed.ToString());
    return removed;
  }
  const Origin origin = entry->second.origin;
  entries_.erase(entry);
  // Whoever comes with new disks again and again must not be remembered for ever.
  const bool has_others = std::ranges::any_of(
      entries_, [&](const auto& other) { return other.second.origin == origin; });
  if (!has_others) heard_.erase(origin);
  return absl::OkStatus();
}

void ReplicaStore::EraseAll(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) (void)Erase(id);
}

std::vector<ReplicaStore::Kept> ReplicaStore::List() const {
  std::vector<Kept> list;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = options_.clock();
    for (const auto& [id, entry] : entries_) {
      if (entry.being_removed) continue;
      if (list.size() == kMostListed) break;
      list.push_back({.job_id = id,
                      .origin = entry.origin,
                      .is_orphan = IsOrphan(entry, now),
                      .being_taken = entry.being_taken,
                      .silence = Silence(entry, now),
                      .failure = entry.failure});
    }
  }
  std::erase_if(list, [this](Kept& kept) {
    const auto frames = spool_->Open(kept.job_id);
    if (absl::IsNotFound(frames.status())) return true;  // removed meanwhile
    if (!frames.ok()) {
      kept.failure = frames.status();
      return false;
    }
    const std::vector<jobs::FrameState> states = (*frames)->states();
    kept.frames = static_cast<int64_t>(states.size());
    kept.present = std::ranges::count(states, jobs::FrameState::kPresent);
    kept.gaps = std::ranges::count(states, jobs::FrameState::kGap);
    kept.finished = (*frames)->finished();
    return false;
  });
  return list;
}

std::map<std::string, ReplicaStore::OriginCounts> ReplicaStore::Count() const {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = options_.clock();
  std::map<std::string, OriginCounts> counts;
  for (const auto& [id, entry] : entries_) {
    OriginCounts& of = counts[entry.origin.node];
    ++of.copies;
    of.orphans += IsOrphan(entry, now);
    of.being_taken += entry.being_taken;
  }
  return counts;
}

size_t ReplicaStore::known_origins() const {
  absl::MutexLock lock(&mutex_);
  return heard_.size();
}

ReplicaStore::Usage ReplicaStore::usage() const {
  const spool::SpoolUsage usage = spool_->usage();
  return {usage.jobs, usage.used_bytes, usage.capacity_bytes};
}

}  // namespace isocenter::replicas
