#include "server/cluster_index/state.h"

#include "server/base/log.h"

namespace isocenter::cluster_index {

void State::Set(Part part, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  const bool was_up = IsUp();
  (part == Part::kReading ? reading_ : publishing_) = status;
  if (!was_up && IsUp()) {
    is_told_ = false;
    spdlog::info("event=shared_index_up");
  } else if (!status.ok() && !is_told_) {
    is_told_ = true;
    spdlog::warn("event=shared_index_away part={} error=\"{}\"",
                 part == Part::kReading ? "reading" : "publishing", status.ToString());
  }
}

bool State::is_up() const {
  absl::MutexLock lock(&mutex_);
  return IsUp();
}

}  // namespace isocenter::cluster_index
