#include "kernels/physics/scatter/settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::physics {
namespace {

template <typename T>
absl::Status Check(absl::string_view name, T value, T least, T most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("scatter.", name, " is ", value, "; legal is ", least, " to ", most));
}

}  // namespace

absl::Status ValidateScatterSettings(const ScatterSettings& s) {
  ISO_RETURN_IF_ERROR(Check<int64_t>("photons_per_view", s.photons_per_view, 1000, 1'000'000'000));
  ISO_RETURN_IF_ERROR(Check("views", s.views, 1, 360));
  ISO_RETURN_IF_ERROR(Check("columns", s.columns, 2, 256));
  ISO_RETURN_IF_ERROR(Check("rows", s.rows, 2, 256));
  ISO_RETURN_IF_ERROR(Check<int64_t>(
      "views x columns x rows", int64_t{s.views} * s.columns * s.rows, 1, kMostScatterReadings));
  ISO_RETURN_IF_ERROR(Check("grid_primary", s.grid.primary, 0.01, 1.0));
  return Check("grid_scatter", s.grid.scatter, 0.001, 1.0);
}

std::vector<int> ScatterFrames(int views, int frames) {
  std::vector<int> chosen(views);
  for (int i = 0; i < views; ++i) {
    chosen[i] =
        static_cast<int>((int64_t{i} * (frames - 1) + (views - 1) / 2) / std::max(1, views - 1));
  }
  return chosen;
}

}  // namespace isocenter::physics
