#include "server/pipeline/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/pipeline/subtraction.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

using jobs::JobState;

Engine::Engine(const EngineEnvironment& environment, std::vector<SlotDevices> devices,
               EngineOptions options)
    : environment_(environment),
      options_(std::move(options)),
      runs_(environment.registry, environment.scheduler, std::move(devices),
            [this](scheduler::DeviceSlot& slot, const absl::Status& why) {
              LoseSlot(slot, why);
              ReplaceLostRuns();
            }),
      orders_(environment.worklist, environment.table, options_.worklist_timeout),
      refinements_({.scheduler = environment.scheduler,
                    .table = environment.table,
                    .spool = environment.spool,
                    .results = environment.results,
                    .observer = environment.observer,
                    .runs = runs_,
                    .keeper = *this,
                    .exporter = exporter_,
                    .changed =
                        [this] {
                          OnConsoleLeft();
                          SeekPlaces();
                        }},
                   options_.decoders),
      consoles_([this] { WatchConsoles(); }) {
  // Only who gives memory back knows when: a run goes with its last owner, which may be a unit that
  // ends after the job.
  environment_.scheduler.WhenFreed([this] { SeekPlaces(); });
}

Engine::~Engine() {
  environment_.scheduler.WhenFreed(nullptr);
  StopAdmitting();
  // What is being accepted at this moment becomes active first.
  absl::Notification accepted;
  admission_lane_->Submit([&accepted] { accepted.Notify(); });
  accepted.WaitForNotification();
  SuspendAll();
  {
    absl::MutexLock lock(&mutex_);
    auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return active_.empty() && runs_being_freed_ == 0;
    };
    mutex_.Await(absl::Condition(&idle));
    stopping_ = true;
  }
  // Those that the last jobs asked for, too.
  refinements_.SuspendAll();
  refinements_.AwaitNone(absl::InfiniteFuture());
  consoles_.join();
}

JobEnvironment Engine::EnvironmentOf(jobs::JobClass job_class) {
  return {.table = environment_.table,
          .results = environment_.results,
          .observer = environment_.observer,
          .keeper = *this,
          .exporter = job_class == jobs::JobClass::kLive ? live_exporter_ : exporter_,
          .reconnect_limit = options_.reconnect_limit};
}

// ---- What the jobs report ----------------------------------------------------------------------

absl::Status Engine::MakeRoomFor(const VolumeGrid& grid) {
  absl::Status room = environment_.results.CheckRoom(grid);
  if (!absl::IsResourceExhausted(room)) return room;
  // Results matter more than the frames of jobs that have ended.
  environment_.spool.FreeDisk(2 * recon::VolumeBytes(grid));
  return environment_.results.CheckRoom(grid);
}

absl::Status Engine::BeforeUnit(const RunPlace& place) {
  if (!options_.fault || place.slot.name != options_.fault->slot) return absl::OkStatus();
  if (chunks_on_faulty_slot_++ != options_.fault->chunks) return absl::OkStatus();
  spdlog::warn("event=fault_injected slot={}", place.slot.name);
  return place.devices[0]->Break();
}

void Engine::OnDeviceLost(const RunPlace& place, const absl::Status& why) {
  std::vector<scheduler::DeviceSlot*> slots = runs_.SlotsOf(place.devices);
  if (slots.size() > 1) {
    std::erase_if(slots, [&](scheduler::DeviceSlot* slot) { return !runs_.IsLost(*slot); });
    if (slots.empty()) slots = {&place.slot};
  }
  for (scheduler::DeviceSlot* slot : slots) LoseSlot(*slot, why);
  ReplaceLostRuns();
}

void Engine::LoseSlot(scheduler::DeviceSlot& slot, const absl::Status& why) {
  if (!slot.healthy()) return;
  slot.Quarantine(std::string(why.message()));
  spdlog::error("event=device_lost slot={} error=\"{}\"", slot.name, why.ToString());
  environment_.observer.OnDeviceLost(slot.name);
}

void Engine::ReplaceLostRuns() {
  for (const auto& job : ActiveJobs()) {
    std::shared_ptr<ReconstructionRun> dropped = job->run();
    if (dropped == nullptr) continue;
    const auto used = runs_.SlotsOf(dropped->devices());
    if (std::ranges::all_of(used, [](const auto* slot) { return slot->healthy(); })) continue;
    if (job->DropRun() == nullptr) continue;
    {
      absl::MutexLock lock(&mutex_);
      ++runs_being_freed_;
    }
    dropped->lane().Clear();
    scheduler::DeviceSlot& slot = dropped->slot();
    FreeOnSlotThread(slot, std::move(dropped), [this] {
      absl::MutexLock lock(&mutex_);
      --runs_being_freed_;
    });
    job->Warn({jobs::WarningKind::kDeviceReplaced, std::nullopt,
               "a device failed; the job is computed again from its frames"});
    environment_.observer.OnJobResumed("device");
  }
  refinements_.ReplaceLostRuns();
  if (environment_.scheduler.healthy_slots() > 0) {
    SeekPlaces();
  } else if (!no_device_reported_.exchange(true) && options_.no_device_left) {
    options_.no_device_left();
  }
}

void Engine::OnConsoleLeft() {
  absl::MutexLock lock(&mutex_);
  consoles_changed_ = true;
}

void Engine::WatchConsoles() {
  pthread_setname_np(pthread_self(), "iso-consoles");
  while (true) {
    absl::Time earliest = absl::InfiniteFuture();
    for (const auto& job : ActiveJobs()) {
      if (job->console_deadline() <= absl::Now()) job->GiveUpConsole();
      earliest = std::min(earliest, job->console_deadline());
    }
    earliest = std::min({earliest, refinements_.EndOverdue(), orders_.EndOverdue()});
    absl::MutexLock lock(&mutex_);
    auto news = [this]()
                    ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || consoles_changed_; };
    mutex_.AwaitWithDeadline(absl::Condition(&news), earliest);
    if (stopping_) return;
    consoles_changed_ = false;
  }
}

void Engine::OnFirstFrame(ReconstructionJob& job) {
  orders_.WhenSettled(job.id(), [this, id = job.id()](bool settled) {
    // Else it is told when the service has started again.
    if (!settled) return;
    const absl::StatusOr<jobs::JobSnapshot> snapshot = environment_.table.Get(id);
    if (snapshot.ok()) environment_.observer.OnAcquisitionBegan(**snapshot);
  });
}

void Engine::WhenIdentified(ReconstructionJob& job, std::function<void()> then) {
  orders_.WhenSettled(job.id(), [then = std::move(then)](bool) { then(); });
}

void Engine::OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) {
  FollowUp(job.id(), stored, job.request(), job.spool());
}

void Engine::FollowUp(const std::string& id, const jobs::StoredSeries& stored,
                      const AcquisitionRequest& request, std::shared_ptr<jobs::JobSpool> spool) {
  const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id);
  const absl::Status followed =
      job.ok() ? refinements_.Follow(**job, stored, request, std::move(spool)) : job.status();
  // The volume is there; its refinement can still be asked for.
  if (!followed.ok()) {
    spdlog::error("event=refinement_refused refines={} error=\"{}\"", id, followed.ToString());
  }
}

void Engine::OnJobEnded(ReconstructionJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> snapshot = environment_.table.Get(job.id());
  const bool suspended = snapshot.ok() && !jobs::HasEnded((*snapshot)->state);
  if (!suspended) refinements_.ReleaseFrames(job.id());
  const std::string pair_id = job.request().pair_id;
  std::shared_ptr<ReconstructionJob> last;  // destroyed after the lock is given back
  {
    absl::MutexLock lock(&mutex_);
    const auto found = active_.find(job.id());
    if (found == active_.end()) return;
    last = std::move(found->second);
    if (!suspended && !pair_id.empty()) {
      SubmitSubtraction(pair_id);
    }
    SeekPlaces();  // for the refinements of this job; before the engine may go
    active_.erase(found);
  }
}

void Engine::SubmitSubtraction(const std::string& pair_id) {
  exporter_.NewLane({jobs::JobClass::kInteractive})->Submit([this, pair_id] {
    SubtractIfComplete(pair_id);
  });
}

void Engine::SubtractIfComplete(const std::string& pair_id) {
  const Pair pair = FindPair(environment_.table, pair_id);
  const auto completed = [](const jobs::JobSnapshot& job) {
    return job != nullptr && job->state == JobState::kCompleted;
  };
  if (!completed(pair.mask) || !completed(pair.fill) || pair.subtraction != nullptr) return;
  const absl::Status status = Subtract(pair, environment_.table, environment_.results,
                                       environment_.scheduler.slots()[0]->host_memory);
  if (!status.ok()) {
    spdlog::error("event=subtraction_failed pair={} error=\"{}\"", pair_id, status.ToString());
  }
}

// ---- Cancel and stop ---------------------------------------------------------------------------

absl::Status Engine::Cancel(const std::string& job_id, const absl::Status& why) {
  const std::shared_ptr<ReconstructionJob> job = FindActive(job_id);
  const std::shared_ptr<RefinementJob> refinement = refinements_.Find(job_id);
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot snapshot, environment_.table.Get(job_id));
  if ((job == nullptr && refinement == nullptr) || jobs::HasEnded(snapshot->state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job '", job_id, "' has ended already: it is ", std::string(jobs::Name(snapshot->state))));
  }
  job != nullptr ? job->Cancel(why) : refinement->Cancel(why);
  return absl::OkStatus();
}

void Engine::SetDrained(std::optional<std::string> reason) {
  absl::MutexLock lock(&mutex_);
  drain_reason_ = std::move(reason);
}

absl::Status Engine::CheckNotDrained() const {
  absl::MutexLock lock(&mutex_);
  if (!drain_reason_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the node is drained",
                                             drain_reason_->empty() ? "" : ": ", *drain_reason_,
                                             "; use another one, or have an operator resume it"));
}

void Engine::Refine(const std::string& job_id, RefinementRequest request, Refinements::Done done) {
  const bool known = !request.request_id.empty() &&
                     environment_.table.FindByRequestId(request.request_id) != nullptr;
  const absl::Status drained = known ? absl::OkStatus() : CheckNotDrained();
  if (!drained.ok()) return done(drained);
  refinements_.Refine(job_id, std::move(request), std::move(done));
}

void Engine::StopAdmitting() {
  {
    absl::MutexLock lock(&mutex_);
    admitting_ = false;
  }
  refinements_.Stop();
}

bool Engine::WaitUntilIdle(absl::Time deadline) {
  for (const auto& job : ActiveJobs()) {
    if (job->console_deadline() < absl::InfiniteFuture()) job->Suspend();
  }
  {
    absl::MutexLock lock(&mutex_);
    auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return active_.empty(); };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline)) return false;
  }
  // Those that these jobs asked for have no place yet.
  refinements_.SuspendWaiting();
  return refinements_.AwaitNone(deadline);
}

void Engine::SuspendAll() {
  for (const auto& job : ActiveJobs()) job->Suspend();
  orders_.Stop();  // after it nobody is identified any more
  refinements_.SuspendAll();
}

std::shared_ptr<ReconstructionJob> Engine::FindActive(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job_id);
  return found == active_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<ReconstructionJob>> Engine::ActiveJobs() const {
  std::vector<std::shared_ptr<ReconstructionJob>> jobs;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, job] : active_) jobs.push_back(job);
  return jobs;
}

}  // namespace isocenter::pipeline
