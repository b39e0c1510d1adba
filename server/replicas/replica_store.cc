#include "server/replicas/replica_store.h"

#include <algorithm>
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

bool ReplicaStore::IsLost(const Entry& entry, absl::Time now) const {
  const auto heard = heard_.find(entry.origin);
  return heard == heard_.end() || now - heard->second > options_.take_over;
}

void ReplicaStore::Touch(const Origin& origin) {
  absl::MutexLock lock(&mutex_);
  heard_[origin] = options_.clock();
}

absl::Status ReplicaStore::MakeWay(const ReplicaHeader& header) {
  const auto found = entries_.find(header.job_id);
  if (found == entries_.end()) return absl::OkStatus();
  const Entry& entry = found->second;
  if (entry.being_taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("job ", header.job_id, " is being taken over by this node"));
  }
  if (entry.origin == header.origin) return absl::OkStatus();
  if (entry.writers > 0) {
    return absl::AlreadyExistsError(absl::StrCat("a copy of job ", header.job_id,
                                                 " is being written by node ", entry.origin.node));
  }
  Erase(header.job_id);
  return absl::OkStatus();
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
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(MakeWay(header));
  }
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> frames, OpenOrCreate(header));
  absl::MutexLock lock(&mutex_);
  const auto [entry, is_new] = entries_.try_emplace(header.job_id);
  if (entry->second.being_taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("job ", header.job_id, " is being taken over by this node"));
  }
  entry->second.origin = header.origin;
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
  absl::MutexLock lock(&mutex_);
  const absl::Time now = options_.clock();
  // Of others there is nothing to take over.
  if (const auto heard = heard_.find(origin); heard != heard_.end()) heard->second = now;
  std::vector<std::string> done;
  for (const auto& [id, entry] : entries_) {
    if (entry.origin == origin && !needed.contains(id) && entry.writers == 0 &&
        !entry.being_taken && now - entry.written > kWrittenOfLate) {
      done.push_back(id);
    }
  }
  for (const std::string& id : done) Erase(id);
  return absl::OkStatus();
}

std::vector<std::string> ReplicaStore::Orphans() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = options_.clock();
  std::vector<std::string> orphans, expired;
  for (const auto& [id, entry] : entries_) {
    if (entry.being_taken || !IsLost(entry, now)) continue;
    (now - entry.written > options_.keep ? expired : orphans).push_back(id);
  }
  for (const std::string& id : expired) {
    spdlog::error("event=replica_expired job={} origin={}", id, entries_[id].origin.node);
    Erase(id);
  }
  return orphans;
}

absl::StatusOr<ReplicaStore::Replica> ReplicaStore::Take(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = entries_.find(job_id);
    if (entry == entries_.end() || entry->second.being_taken ||
        !IsLost(entry->second, options_.clock())) {
      return absl::NotFoundError(absl::StrCat("job ", job_id, " has no copy to be taken over"));
    }
    entry->second.being_taken = true;
  }
  Replica replica;
  const absl::Status read = [&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(replica.frames, spool_->Open(job_id));
    ISO_ASSIGN_OR_RETURN(replica.record, DecodeRecord(replica.frames->acquisition()));
    return absl::OkStatus();
  }();
  if (read.ok()) return replica;
  LetGo(job_id);
  return read;
}

void ReplicaStore::LetGo(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (entry != entries_.end()) entry->second.being_taken = false;
}

void ReplicaStore::Remove(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  Erase(job_id);
}

void ReplicaStore::Erase(const std::string& job_id) {
  const absl::Status removed = spool_->Remove(job_id);
  if (!removed.ok()) {
    spdlog::warn("event=replica_not_removed job={} error=\"{}\"", job_id, removed.ToString());
    return;
  }
  entries_.erase(job_id);
}

ReplicaStore::Usage ReplicaStore::usage() const {
  const spool::SpoolUsage usage = spool_->usage();
  return {usage.jobs, usage.used_bytes, usage.capacity_bytes};
}

}  // namespace isocenter::replicas
