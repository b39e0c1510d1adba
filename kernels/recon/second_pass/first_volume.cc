#include "kernels/recon/second_pass/first_volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/thread_pool.h"

namespace isocenter::recon {

absl::Status CopyFirstVolume(HostView3<const float> hounsfield, int threads,
                             HostView3<float> volume) {
  const int64_t slices = hounsfield.shape().slow;
  ThreadPool pool(threads);
  std::vector<int> illegal(slices);  // whether a slice has values that are not finite
  pool.ParallelFor(slices, [&](int64_t z, int) {
    const std::span<const float> from = hounsfield.slices(z, 1).span();
    float* const to = volume.slices(z, 1).data();
    // All are looked at, several at once.
    int found = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      to[i] = from[i];
      found |= std::abs(from[i]) <= std::numeric_limits<float>::max() ? 0 : 1;
    }
    illegal[z] = found;
  });
  for (int64_t z = 0; z < slices; ++z) {
    if (illegal[z] == 0) continue;
    const auto finite = [](float value) { return std::isfinite(value); };
    return absl::InvalidArgumentError(absl::StrCat(
        "the first volume has a value of ",
        *std::ranges::find_if_not(hounsfield.slices(z, 1).span(), finite), " HU; legal is finite"));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
