#include "server/pipeline/early/early_refinements.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/ops/device_lost.h"
#include "server/base/log.h"

namespace isocenter::pipeline {
namespace {

bool AsksForEarlyPasses(const AcquisitionRequest& request) {
  if (!request.refinement || request.job_class != jobs::JobClass::kLive) return false;
  const auto* const settings = std::get_if<recon::IterativeSettings>(&request.refinement->settings);
  return settings != nullptr && settings->early_passes > 0;
}

}  // namespace

void EarlyRefinements::Begin(const ReconstructionJob& job) {
  const AcquisitionRequest& request = job.request();
  if (!AsksForEarlyPasses(request)) return;
  const auto waits = [](const auto& other) { return other->waits(); };
  if (std::ranges::any_of(parts_.active.All(), waits)) return;
  auto run = parts_.runs.MakeEarlyRefinement(
      request, job.grid(),
      {jobs::JobClass::kInteractive, parts_.Now() + request.refinement->deadline});
  if (!run.ok()) {
    spdlog::info("event=early_refinement_refused refines={} reason=\"{}\"", job.id(),
                 run.status().ToString());
    return;
  }
  spdlog::info("event=early_refinement_begins refines={} slot={}", job.id(), (*run)->slot().name);
  const auto early = std::make_shared<EarlyRefinement>(
      *std::move(run), job.spool(), parts_.keeper,
      [this, id = job.id()](std::shared_ptr<RefinementRun> failed, const absl::Status& why) {
        OnFailed(id, std::move(failed), why);
      });
  bool stopped = false;
  {
    absl::MutexLock lock(&mutex_);
    stopped = stopped_;
    by_source_[job.id()] = early;
  }
  // Whoever ends the acquisition gives up what is there by then.
  const absl::StatusOr<jobs::JobSnapshot> snapshot = parts_.table.Get(job.id());
  if (stopped || !snapshot.ok() || jobs::HasEnded((*snapshot)->state)) return GiveUp(job.id());
  const ReconstructionJob::Input input = job.input();
  if (input.lost == 0) early->OnFrames(input.prefix);
}

std::shared_ptr<EarlyRefinement> EarlyRefinements::Find(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_source_.find(id);
  return found == by_source_.end() ? nullptr : found->second;
}

void EarlyRefinements::OnFrames(const std::string& id, int present) {
  if (const auto early = Find(id)) early->OnFrames(present);
}

void EarlyRefinements::OnScanComplete(const ReconstructionJob& job) {
  const auto early = Find(job.id());
  if (early == nullptr) return;
  auto ledger =
      std::make_unique<const FrameLedger>(job.spool()->states(), job.request().missing_frames);
  // That a frame is given up may still be on its way to the disk; then the job goes on with it.
  if (ledger->complete()) early->OnScanComplete(std::move(ledger));
}

std::shared_ptr<RefinementRun> EarlyRefinements::Take(const std::string& id) {
  Removed removed = Remove(id);
  if (removed.run != nullptr) TellEnded(id, removed, "used", "");
  return std::move(removed.run);
}

EarlyRefinements::Removed EarlyRefinements::Remove(const std::string& id) {
  std::shared_ptr<EarlyRefinement> early;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = by_source_.find(id);
    if (found == by_source_.end()) return {};
    early = std::move(found->second);
    by_source_.erase(found);
  }
  return {early->Take(), early->frames_done()};
}

void EarlyRefinements::TellEnded(const std::string& id, const Removed& removed,
                                 absl::string_view outcome, absl::string_view why) const {
  spdlog::info("event=early_refinement_ended refines={} outcome={} slot={} frames={} reason=\"{}\"",
               id, std::string(outcome), removed.run->slot().name, removed.frames_done,
               std::string(why));
  if (parts_.options.early_refinement_ended) {
    parts_.options.early_refinement_ended(outcome, removed.frames_done);
  }
}

// ---- Giving up ---------------------------------------------------------------------------------

void EarlyRefinements::Free(const std::string& id, Removed removed, absl::string_view why,
                            std::function<void()> freed) {
  TellEnded(id, removed, "given_up", why);
  FreeRun(std::move(removed.run),
          [errand = parts_.active.BeginErrand(), freed = std::move(freed)] { freed(); });
}

void EarlyRefinements::OnFailed(const std::string& id, std::shared_ptr<RefinementRun> run,
                                const absl::Status& why) {
  const RunPlace place = run->place();
  Removed removed = Remove(id);
  removed.run = std::move(run);
  Free(id, std::move(removed), why.ToString(), [] {});
  // Other errors meet the refinement's job, which says so.
  if (ops::IsDeviceLost(why)) parts_.keeper.OnDeviceLost(place, why);
}

void EarlyRefinements::GiveUp(const std::string& id) {
  Removed removed = Remove(id);
  if (removed.run != nullptr) Free(id, std::move(removed), "nobody will use it", [] {});
}

bool EarlyRefinements::YieldOne() {
  while (true) {
    std::string id;
    {
      absl::MutexLock lock(&mutex_);
      if (by_source_.empty()) return false;
      id = by_source_.rbegin()->first;  // the newest: the least is lost
    }
    Removed removed = Remove(id);
    if (removed.run == nullptr) continue;  // it failed, or somebody was faster
    absl::Notification freed;
    Free(id, std::move(removed), "a scan needs its place", [&freed] { freed.Notify(); });
    freed.WaitForNotification();
    return true;
  }
}

void EarlyRefinements::GiveUpAll() {
  std::vector<std::string> all;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, early] : by_source_) all.push_back(id);
  }
  for (const std::string& id : all) GiveUp(id);
}

void EarlyRefinements::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  GiveUpAll();
}

}  // namespace isocenter::pipeline
