#include "server/pipeline/early/early_refinement.h"

#include <algorithm>
#include <utility>

namespace isocenter::pipeline {

EarlyRefinement::EarlyRefinement(std::shared_ptr<RefinementRun> run,
                                 std::shared_ptr<jobs::JobSpool> spool, JobKeeper& keeper,
                                 Failed failed)
    : spool_(std::move(spool)), keeper_(keeper), failed_(std::move(failed)), run_(std::move(run)) {}

void EarlyRefinement::OnFrames(int present) {
  absl::MutexLock lock(&mutex_);
  present_ = std::max(present_, present);
  if (run_ != nullptr && !working_) Submit();
}

void EarlyRefinement::OnScanComplete(std::unique_ptr<const FrameLedger> ledger) {
  absl::MutexLock lock(&mutex_);
  if (ledger_ != nullptr) return;  // a volume can be complete again, after a loss of its device
  ledger_ = std::move(ledger);
  if (run_ != nullptr && !working_) Submit();
}

std::shared_ptr<RefinementRun> EarlyRefinement::Take() {
  std::shared_ptr<RefinementRun> run;
  {
    absl::MutexLock lock(&mutex_);
    run = std::exchange(run_, nullptr);
  }
  if (run != nullptr) run->lane().Clear();
  return run;
}

int EarlyRefinement::frames_done() const {
  absl::MutexLock lock(&mutex_);
  return frames_done_;
}

void EarlyRefinement::Submit() {
  working_ = true;
  run_->lane().Submit([self = shared_from_this()] { self->Work(); });
}

void EarlyRefinement::Work() {
  std::shared_ptr<RefinementRun> run;
  int present = 0;
  const FrameLedger* ledger = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ == nullptr) return;
    run = run_;
    present = present_;
    ledger = ledger_.get();
  }
  const absl::Status ready = keeper_.BeforeUnit(run->place());
  const absl::StatusOr<bool> idle = !ready.ok()         ? absl::StatusOr<bool>(ready)
                                    : ledger != nullptr ? run->Advance(*spool_, *ledger)
                                                        : run->AdvanceEarly(*spool_, present);
  {
    absl::MutexLock lock(&mutex_);
    if (run_ == nullptr) return;  // whoever has it meets the error, too
    if (idle.ok()) {
      if (*idle && ledger == nullptr) frames_done_ = present;
      working_ = !*idle || present_ > present || ledger_.get() != ledger;
      if (working_) Submit();
      return;
    }
    run_ = nullptr;
  }
  failed_(std::move(run), idle.status());
}

}  // namespace isocenter::pipeline
