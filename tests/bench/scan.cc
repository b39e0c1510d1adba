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

absl::StatusOr<ScanCase> MakeScanCase(const std::string& name, int views,
                                      const std::string& trajectory) {
  constexpr double kEdgeMm = 256;
  const auto cube = [](int size) {
    return CenteredGrid(size, size, size, {kEdgeMm / size, kEdgeMm / size, kEdgeMm / size});
  };
  if (name == "C512") {
    ScanCase scan{.detector = kFullDetector, .grid = cube(512)};
    ISO_ASSIGN_OR_RETURN(scan.trajectory, MakeTrajectory(trajectory, views > 0 ? views : 494));
    return scan;
  }
  CircularOrbit orbit{.views = 496,
                      .source_to_isocenter_mm = 750,
                      .source_to_detector_mm = 1200,
                      .arc = DegreesToRadians(200)};
  ScanCase scan{.detector = {.columns = 1248, .rows = 960, .pitch_u_mm = 0.32, .pitch_v_mm = 0.32}};
  if (name == "R512" || name == "R1024" || name == "R2048") {
    scan.grid = cube(name == "R512" ? 512 : name == "R1024" ? 1024 : 2048);
  } else if (name == "H256") {
    scan.detector = {.columns = 620, .rows = 480, .pitch_u_mm = 0.64, .pitch_v_mm = 0.64};
    scan.grid = cube(256);
    orbit.views = 248;
  } else if (name == "S512") {
    scan.detector = {.columns = 512, .rows = 512, .pitch_u_mm = 0.8, .pitch_v_mm = 0.8};
    scan.grid = cube(512);
    orbit.views = 360;
    orbit.arc = 2 * kPi * 359 / 360;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--case is '", name, "'; legal are R512, R1024, R2048, H256, S512 and C512"));
  }
  if (views > 0) orbit.views = views;
  ISO_ASSIGN_OR_RETURN(scan.trajectory, MakeCircularOrbit(orbit, scan.detector));
  return scan;
}

}  // namespace isocenter::bench
