#include "tests/bench/scan.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::bench {

absl::StatusOr<Trajectory> MakeTrajectory(const std::string& file, int views) {
  if (file.empty()) {
    const CircularOrbit orbit{.views = views,
                              .source_to_isocenter_mm = 750,
                              .source_to_detector_mm = 1200,
                              .arc = DegreesToRadians(204)};
    return MakeWobblingOrbit(orbit, kFullDetector, 1.0, 1);
  }
  ISO_ASSIGN_OR_RETURN(const Trajectory all, ReadTrajectoryCsv(file));
  if (static_cast<int>(all.size()) < views) {
    return absl::InvalidArgumentError(
        absl::StrCat("--views is ", views, "; the trajectory has ", all.size()));
  }
  Trajectory some;
  for (int i = 0; i < views; ++i) some.push_back(all[i * (all.size() - 1) / (views - 1)]);
  return some;
}

}  // namespace isocenter::bench
