#include "server/pipeline/run_place.h"

#include <utility>

namespace isocenter::pipeline {

void FreeOnSlotThread(scheduler::DeviceSlot& slot, std::shared_ptr<void> run,
                      std::function<void()> freed) {
  const auto first = slot.lanes.NewLane({jobs::JobClass::kLive, absl::InfinitePast()});
  // Moved, not copied: what this thread held could be the last.
  auto held = std::make_shared<std::shared_ptr<void>>(std::move(run));
  first->Submit([held = std::move(held), freed = std::move(freed)] {
    held->reset();
    freed();
  });
}

}  // namespace isocenter::pipeline
