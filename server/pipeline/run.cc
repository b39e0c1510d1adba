#include "server/pipeline/run.h"

#include <utility>

namespace isocenter::pipeline {

void FreeRun(std::shared_ptr<Run> run, std::function<void()> freed) {
  run->lane().Clear();
  const auto first = run->slot().lanes.NewLane({jobs::JobClass::kLive, absl::InfinitePast()});
  // Moved, not copied: what this thread held could be the last.
  auto held = std::make_shared<std::shared_ptr<Run>>(std::move(run));
  first->Submit([held = std::move(held), freed = std::move(freed)] {
    held->reset();
    freed();
  });
}

}  // namespace isocenter::pipeline
