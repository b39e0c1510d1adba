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
  {
    absl::MutexLock lock(&mutex_);
    if (run_ == nullptr) return;
    run = run_;
    present = present_;
  }
  const absl::Status ready = keeper_.BeforeUnit(run->place());
  const absl::StatusOr<bool> idle =
      ready.ok() ? run->AdvanceEarly(*spool_, present) : absl::StatusOr<bool>(ready);
  {
    absl::MutexLock lock(&mutex_);
    if (run_ == nullptr) return;  // whoever has it meets the error, too
    if (idle.ok()) {
      if (*idle) frames_done_ = present;
      working_ = !*idle || present_ > present;
      if (working_) Submit();
      return;
    }
    run_ = nullptr;
  }
  failed_(std::move(run), idle.status());
}

}  // namespace isocenter::pipeline
