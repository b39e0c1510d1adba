#include "server/pipeline/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/pipeline/recovery.h"

namespace isocenter::pipeline {

Engine::Engine(const EngineEnvironment& environment, std::vector<SlotDevices> devices,
               EngineOptions options)
    : options_(std::move(options)),
      parts_{environment,
             options_,
             *this,
             runs_,
             loaded_calibrations_,
             active_,
             early_,
             disk_,
             [this] { SeekPlaces(); }},
      disk_(environment.results, environment.spool),
      active_([this] { WakeWatch(); }, parts_.seek_places),
      early_(parts_),
      device_loss_(parts_),
      loaded_calibrations_(environment.calibrations, environment.scheduler.slots()[0]->host_memory),
      runs_(
          environment.registry, environment.scheduler, loaded_calibrations_, std::move(devices),
          [this](scheduler::DeviceSlot& slot, const absl::Status& why) {
            device_loss_.OnSlotLost(slot, why);
          },
          options_.clock),
      orders_(environment.worklist, environment.table, options_.worklist_timeout, options_.clock),
      refinements_(parts_, exporter_),
      acquisitions_(parts_, exporter_, live_exporter_, orders_, refinements_),
      admission_(parts_, acquisitions_),
      watcher_([this] { WatchDeadlines(); }) {
  // Only who gives memory back knows when: a run goes with its last owner, which may be a unit that
  // ends after the job.
  parts_.scheduler.WhenFreed([this] { SeekPlaces(); });
}

Engine::~Engine() {
  parts_.scheduler.WhenFreed(nullptr);
  StopAdmitting();
  const auto await_admission = [this] {
    for (const auto& lane : {early_lane_, quote_lane_, admission_lane_}) {
      absl::Notification done;
      lane->Submit([&done] { done.Notify(); });
      done.WaitForNotification();
    }
  };
  await_admission();  // what is being accepted at this moment becomes active first
  SuspendAll();       // with those that the last jobs ask for, too
  active_.AwaitIdle(absl::InfiniteFuture());
  await_admission();  // what makes a run for a job that has just left
  {
    absl::MutexLock lock(&mutex_);
    watch_ = Watch::kEnds;
  }
  watcher_.join();
}

void Engine::Recover() {
  Recovery(parts_, acquisitions_, refinements_).Recover();
  SeekPlaces();
}

// ---- What is asked for -------------------------------------------------------------------------

namespace {

/// What the admission lane does for a request: `done` gets what `answer` makes of it, or CANCELLED
/// when nobody waits for that any more.
template <class Done, class Answer>
std::function<void()> WhileWanted(AcquisitionRequest request, std::function<bool()> wanted,
                                  Done done, Answer answer) {
  auto shared = std::make_shared<AcquisitionRequest>(std::move(request));
  return [shared, wanted = std::move(wanted), done = std::move(done), answer] {
    if (wanted()) {
      done(answer(std::move(*shared)));
    } else {
      done(absl::CancelledError("the console left before its acquisition was planned"));
    }
  };
}

}  // namespace

void Engine::Accept(AcquisitionRequest request, std::function<bool()> wanted, AcceptDone done) {
  admission_lane_->Submit(
      WhileWanted(std::move(request), std::move(wanted), std::move(done),
                  [this](AcquisitionRequest&& wanted_one) {
                    absl::StatusOr<Accepted> accepted = admission_.Admit(std::move(wanted_one));
                    if (accepted.ok() && accepted->is_new) {
                      early_lane_->Submit([this, job = accepted->job] { early_.Begin(*job); });
                    }
                    return accepted;
                  }));
}

void Engine::Predict(AcquisitionRequest request, std::function<bool()> wanted, QuoteDone done) {
  quote_lane_->Submit(WhileWanted(
      std::move(request), std::move(wanted), std::move(done),
      [this](AcquisitionRequest&& wanted_one) { return admission_.Quote(std::move(wanted_one)); }));
}

absl::StatusOr<Engine::Accepted> Engine::Resume(const ResumeRequest& request) {
  ISO_ASSIGN_OR_RETURN(Accepted accepted, admission_.Resume(request));
  if (accepted.job != nullptr) parts_.observer.OnJobResumed("console");
  return accepted;
}

void Engine::Refine(const std::string& job_id, RefinementRequest request, Refinements::Done done) {
  const bool known =
      !request.request_id.empty() && parts_.table.FindByRequestId(request.request_id) != nullptr;
  const absl::Status drained = known ? absl::OkStatus() : admission_.CheckNotDrained();
  if (!drained.ok()) return done(drained);
  refinements_.Refine(job_id, std::move(request), std::move(done));
}

absl::Status Engine::Cancel(const std::string& job_id, const absl::Status& why) {
  const std::shared_ptr<ActiveJob> job = active_.Find(job_id);
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot snapshot, parts_.table.Get(job_id));
  if (job == nullptr || jobs::HasEnded(snapshot->state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job '", job_id, "' has ended already: it is ", std::string(jobs::Name(snapshot->state))));
  }
  job->Cancel(why);
  return absl::OkStatus();
}

// ---- What the jobs need ------------------------------------------------------------------------

void Engine::SeekPlaces() {
  if (seeking_places_.exchange(true)) return;  // the one that is under way will find them
  admission_lane_->Submit([this] {
    seeking_places_ = false;
    active_.StartWaiting(runs_);
  });
}

void Engine::WakeWatch() {
  absl::MutexLock lock(&mutex_);
  watch_ = std::max(watch_, Watch::kHasNews);
}

void Engine::WatchDeadlines() {
  pthread_setname_np(pthread_self(), "iso-deadlines");
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (watch_ == Watch::kEnds) return;
      watch_ = Watch::kSleeps;
    }
    const absl::Time next =
        std::min({active_.EndOverdue(), orders_.EndOverdue(), active_.StoreAgain()});
    absl::MutexLock lock(&mutex_);
    const auto news = [this]()
                          ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return watch_ != Watch::kSleeps; };
    AwaitFor(mutex_, absl::Condition(&news), next - parts_.Now());
  }
}

// ---- The end -----------------------------------------------------------------------------------

void Engine::SetDrained(std::optional<std::string> reason) {
  admission_.SetDrained(std::move(reason));
}

void Engine::StopAdmitting() {
  active_.Drain();
  early_.Stop();
  refinements_.AwaitMade();
}

bool Engine::WaitUntilIdle(absl::Time deadline) {
  for (const auto& job : active_.All<ReconstructionJob>()) {
    if (job->console_deadline() < absl::InfiniteFuture()) job->Suspend();
  }
  if (!active_.AwaitNone<ReconstructionJob>(deadline)) return false;
  // Those that these jobs asked for have no place yet.
  active_.SuspendWaiting();
  return active_.AwaitIdle(deadline);
}

void Engine::SuspendAll() {
  active_.SuspendAll();
  orders_.Stop();  // after it nobody is identified any more
}

}  // namespace isocenter::pipeline
