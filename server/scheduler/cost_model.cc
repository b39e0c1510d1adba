#include "server/scheduler/cost_model.h"

#include <cmath>

namespace isocenter::scheduler {

void CostModel::Add(double voxel_updates, double seconds) {
  if (!(voxel_updates > 0 && seconds > 0)) return;
  constexpr double kHalfLifeSeconds = 30;
  const double fading = std::exp2(-seconds / kHalfLifeSeconds);
  absl::MutexLock lock(&mutex_);
  updates_ = fading * updates_ + voxel_updates;
  seconds_ = fading * seconds_ + seconds;
}

double CostModel::PredictSeconds(double voxel_updates) const {
  absl::MutexLock lock(&mutex_);
  return seconds_ == 0 ? voxel_updates / prior_ : voxel_updates * seconds_ / updates_;
}

}  // namespace isocenter::scheduler
