// The measured C-arm trajectory that the tests use where it is at hand; it is not part of the
// repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace isocenter {

/// Of the detector that the measured matrices belong to.
inline constexpr int kMeasuredColumns = 1240, kMeasuredRows = 960;
inline constexpr double kMeasuredPitchMm = 0.308;

/// Path in the environment variable ISOCENTER_TRAJECTORY, or beside the repository; nullopt when
/// there is none.
inline std::optional<std::string> MeasuredTrajectoryPath() {
  if (const char* path = std::getenv("ISOCENTER_TRAJECTORY")) return path;
  const std::filesystem::path root = std::filesystem::path(__FILE__)
                                         .parent_path()   // geometry
                                         .parent_path()   // kernels
                                         .parent_path()   // tests
                                         .parent_path();  // repository
  const std::filesystem::path path = root / "../shared/data/carm_trajectory_494.csv";
  if (std::filesystem::exists(path)) return path.string();
  return std::nullopt;
}

}  // namespace isocenter
