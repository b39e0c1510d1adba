#include "server/jobs/job_table.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::jobs {
namespace {

absl::Status NoSuchJob(const std::string& id) {
  const bool refinement = absl::EndsWith(id, "-ref");
  return absl::NotFoundError(absl::StrCat(
      "there is no job '", id, "'",
      refinement ? "; a job has a refinement of that name where its protocol asks for one"
                 : "; `isocenter jobs` lists those that are there"));
}

bool IsUnsuccessful(JobState state) {
  return state == JobState::kFailed || state == JobState::kCancelled;
}

}  // namespace

void JobTable::Watchers::Tell(const std::string& id) const {
  for (const auto& watcher : of_job) (*watcher)();
  for (const auto& watcher : of_all) (*watcher)(id);
}

bool JobFilter::Matches(const Job& job) const {
  return (states.empty() || std::ranges::find(states, job.state) != states.end()) &&
         (protocol.empty() || protocol == job.protocol) &&
         (accession_number.empty() || accession_number == job.patient_study.accession_number) &&
         (station_name.empty() || station_name == job.station_name) &&
         (pair_id.empty() || pair_id == job.pair_id);
}

JobTable::Subscription& JobTable::Subscription::operator=(Subscription&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(job_id_, other.job_id_);
  std::swap(key_, other.key_);
  return *this;
}

JobTable::Subscription::~Subscription() {
  if (table_ != nullptr) table_->Unsubscribe(job_id_, key_);
}

absl::Status JobTable::Load(absl::Time now, const std::function<bool(const Job&)>& resumable) {
  absl::MutexLock store_lock(&store_mutex_);
  ISO_ASSIGN_OR_RETURN(StoredJobs stored, store_.LoadAll());
  {
    absl::MutexLock lock(&mutex_);
    damaged_ = std::move(stored.damaged);
  }
  for (Job& job : stored.jobs) {
    if (!HasEnded(job.state) && !(resumable && resumable(job))) {
      job.error = absl::AbortedError(absl::StrCat("the service stopped while this job was ",
                                                  std::string(Name(job.state)),
                                                  "; the acquisition has to be sent again"));
      job.state = JobState::kFailed;
      job.end_time = now;
      ISO_RETURN_IF_ERROR(store_.Save(job));
    }
    absl::MutexLock lock(&mutex_);
    AddLocked(std::make_shared<const Job>(std::move(job)));
  }
  return absl::OkStatus();
}

std::vector<DamagedRecord> JobTable::damaged() const {
  absl::MutexLock lock(&mutex_);
  return damaged_;
}

bool JobTable::IsDamaged(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  return std::ranges::find(damaged_, id, &DamagedRecord::job_id) != damaged_.end();
}

absl::Status JobTable::Insert(const Job& job) {
  Watchers watchers;
  {
    absl::MutexLock store_lock(&store_mutex_);
    if (Get(job.id).ok() || IsDamaged(job.id)) {
      return absl::AlreadyExistsError(absl::StrCat("there is a job '", job.id, "' already"));
    }
    ISO_RETURN_IF_ERROR(store_.Save(job));
    absl::MutexLock lock(&mutex_);
    AddLocked(std::make_shared<const Job>(job));
    watchers = WatchersOf(job.id);
  }
  if (observer_ != nullptr) observer_->OnJobAccepted(job);
  watchers.Tell(job.id);
  return absl::OkStatus();
}

absl::StatusOr<JobSnapshot> JobTable::Get(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoSuchJob(id);
  return found->second.job;
}

JobSnapshot JobTable::FindByRequestId(const std::string& request_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = by_request_id_.find(request_id);
  if (found == by_request_id_.end()) return nullptr;
  return jobs_.at(found->second).job;
}

std::vector<JobSnapshot> JobTable::List(const JobFilter& filter,
                                        const std::optional<JobCursor>& cursor, int limit) const {
  std::vector<JobSnapshot> page;
  absl::MutexLock lock(&mutex_);
  auto at = cursor ? by_time_.lower_bound({cursor->create_time, cursor->id}) : by_time_.end();
  while (at != by_time_.begin() && static_cast<int>(page.size()) < limit) {
    --at;
    const JobSnapshot& job = jobs_.at(at->second).job;
    if (filter.Matches(*job)) page.push_back(job);
  }
  return page;
}

void JobTable::Update(const std::string& id, const std::function<void(Job&)>& change) {
  Watchers watchers;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || HasEnded(found->second.job->state)) return;
    auto changed = std::make_shared<Job>(*found->second.job);
    change(*changed);
    found->second.job = std::move(changed);
    watchers = WatchersOf(id);
  }
  watchers.Tell(id);
}

absl::Status JobTable::UpdateAndSave(const std::string& id,
                                     const std::function<void(Job&)>& change) {
  // The state cannot change meanwhile.
  absl::MutexLock store_lock(&store_mutex_);
  const absl::StatusOr<JobSnapshot> before = Get(id);
  if (!before.ok() || HasEnded((*before)->state)) return absl::OkStatus();
  Job changed = **before;
  change(changed);
  const absl::Status saved = store_.Save(changed);
  Update(id, change);
  return saved;
}

absl::Status JobTable::Transition(const std::string& id, JobState to,
                                  const std::function<void(Job&)>& change) {
  const auto apply = [&](const Job& from) {
    auto changed = std::make_shared<Job>(from);
    if (change) change(*changed);
    changed->state = to;
    return changed;
  };
  absl::Status saved;
  JobState from;
  JobSnapshot job;
  Watchers watchers;
  std::vector<std::string> removed;
  {
    absl::MutexLock store_lock(&store_mutex_);
    ISO_ASSIGN_OR_RETURN(const JobSnapshot before, Get(id));
    from = before->state;
    if (!IsLegalTransition(from, to)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job '", id, "' is ", std::string(Name(from)), " and cannot become ",
                       std::string(Name(to))));
    }
    // How far an active job has come is told again by its spool.
    if (HasEnded(to)) saved = store_.Save(*apply(*before));
    {
      // Progress may have moved on meanwhile; the state has not, as this is the only place that
      // changes it and store_mutex_ is held.
      absl::MutexLock lock(&mutex_);
      Entry& entry = jobs_.at(id);
      entry.job = apply(*entry.job);
      job = entry.job;
      watchers = WatchersOf(id);
    }
    if (IsUnsuccessful(to)) removed = DropOldUnsuccessfulJobs();
  }
  if (observer_ != nullptr) {
    observer_->OnStateChanged(*job, from);
    if (HasEnded(to)) observer_->OnJobEnded(*job);
  }
  watchers.Tell(id);
  TellRemoved(removed);
  return saved;
}

absl::Status JobTable::SaveTrace(const std::string& id, const std::string& trace) {
  return store_.SaveTrace(id, trace);
}

absl::StatusOr<std::string> JobTable::TraceOf(const std::string& id) const {
  ISO_ASSIGN_OR_RETURN(const JobSnapshot job, Get(id));
  absl::StatusOr<std::string> trace = store_.LoadTrace(id);
  if (absl::IsNotFound(trace.status()) && !HasEnded(job->state)) {
    return absl::NotFoundError(absl::StrCat("job '", id, "' is ", std::string(Name(job->state)),
                                            " and has no trace yet; it is written at its end"));
  }
  return trace;
}

absl::Status JobTable::Delete(const std::string& id) {
  Watchers watchers;
  {
    absl::MutexLock store_lock(&store_mutex_);
    if (!IsDamaged(id)) {
      ISO_ASSIGN_OR_RETURN(const JobSnapshot job, Get(id));
      if (!HasEnded(job->state)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "job '", id, "' is ", std::string(Name(job->state)), "; cancel it before deleting it"));
      }
    }
    ISO_RETURN_IF_ERROR(CheckUnused(id));
    ISO_RETURN_IF_ERROR(store_.Delete(id));
    absl::MutexLock lock(&mutex_);
    watchers = WatchersOf(id);
    EraseLocked(id);
    std::erase_if(damaged_, [&](const DamagedRecord& record) { return record.job_id == id; });
  }
  for (const auto& watcher : watchers.of_job) (*watcher)();
  TellRemoved({id});
  return absl::OkStatus();
}

absl::Status JobTable::CheckUnused(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [other, entry] : jobs_) {
    const std::vector<std::string>& sources = entry.job->source_job_ids;
    if (HasEnded(entry.job->state) || std::ranges::find(sources, id) == sources.end()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("job '", other, "', which is ", std::string(Name(entry.job->state)),
                     ", is made from job '", id, "'; wait for it or cancel it first"));
  }
  return absl::OkStatus();
}

absl::StatusOr<JobTable::Subscription> JobTable::Subscribe(const std::string& id,
                                                           std::function<void()> changed) {
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoSuchJob(id);
  const int64_t key = next_watcher_++;
  found->second.watchers[key] = std::make_shared<const std::function<void()>>(std::move(changed));
  return Subscription(this, id, key);
}

JobTable::Subscription JobTable::SubscribeAll(std::function<void(const std::string& id)> changed) {
  absl::MutexLock lock(&mutex_);
  const int64_t key = next_watcher_++;
  watchers_of_all_[key] =
      std::make_shared<const std::function<void(const std::string& id)>>(std::move(changed));
  return Subscription(this, "", key);
}

JobCounts JobTable::Count() const {
  JobCounts counts;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, entry] : jobs_) ++counts[{entry.job->state, entry.job->job_class}];
  return counts;
}

void JobTable::AddLocked(JobSnapshot job) {
  by_time_.insert({job->create_time, job->id});
  if (!job->request_id.empty()) by_request_id_[job->request_id] = job->id;
  const std::string id = job->id;
  jobs_[id].job = std::move(job);
}

void JobTable::EraseLocked(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const Job& job = *found->second.job;
  by_time_.erase({job.create_time, id});
  const auto request = by_request_id_.find(job.request_id);
  if (request != by_request_id_.end() && request->second == id) by_request_id_.erase(request);
  jobs_.erase(found);
}

JobTable::Watchers JobTable::WatchersOf(const std::string& id) const {
  Watchers watchers;
  if (const auto found = jobs_.find(id); found != jobs_.end()) {
    for (const auto& [key, watcher] : found->second.watchers) watchers.of_job.push_back(watcher);
  }
  for (const auto& [key, watcher] : watchers_of_all_) watchers.of_all.push_back(watcher);
  return watchers;
}

void JobTable::Unsubscribe(const std::string& job_id, int64_t key) {
  absl::MutexLock lock(&mutex_);
  watchers_of_all_.erase(key);  // keys are unique
  const auto found = jobs_.find(job_id);
  if (found != jobs_.end()) found->second.watchers.erase(key);
}

std::vector<std::string> JobTable::DropOldUnsuccessfulJobs() {
  std::vector<std::string> old, removed;
  {
    absl::MutexLock lock(&mutex_);
    int kept = 0;
    for (auto at = by_time_.rbegin(); at != by_time_.rend(); ++at) {
      if (!IsUnsuccessful(jobs_.at(at->second).job->state)) continue;
      if (++kept > kUnsuccessfulJobsKept) old.push_back(at->second);
    }
  }
  for (const std::string& id : old) {
    // A record that cannot be removed now is tried again with the next job that ends.
    if (!store_.Delete(id).ok()) continue;
    removed.push_back(id);
    absl::MutexLock lock(&mutex_);
    EraseLocked(id);
  }
  return removed;
}

void JobTable::TellRemoved(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (on_removed_) on_removed_(id);
    Watchers watchers;
    {
      absl::MutexLock lock(&mutex_);
      watchers = WatchersOf(id);
    }
    watchers.Tell(id);
  }
}

}  // namespace isocenter::jobs
