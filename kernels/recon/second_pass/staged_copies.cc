#include "kernels/recon/second_pass/staged_copies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::Status CopyFinite(HostView3<const float> from, ThreadPool& threads, HostView3<float> to) {
  const int64_t slices = from.shape().slow;
  std::vector<int> illegal(slices);  // whether a slice has values that are not finite
  threads.ParallelFor(slices, [&](int64_t z, int) {
    const std::span<const float> values = from.slices(z, 1).span();
    float* const out = to.slices(z, 1).data();
    // All are looked at, several at once.
    int found = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = values[i];
      found |= std::abs(values[i]) <= std::numeric_limits<float>::max() ? 0 : 1;
    }
    illegal[z] = found;
  });
  for (int64_t z = 0; z < slices; ++z) {
    if (illegal[z] == 0) continue;
    const auto finite = [](float value) { return std::isfinite(value); };
    return absl::InvalidArgumentError(absl::StrCat(
        "the first volume has a value of ",
        *std::ranges::find_if_not(from.slices(z, 1).span(), finite), " HU; legal is finite"));
  }
  return absl::OkStatus();
}

int64_t StagedCopies::LeastBytes(const VolumeGrid& grid) {
  return 2 * int64_t{grid.nx} * grid.ny * static_cast<int64_t>(sizeof(float));
}

int64_t StagedCopies::SlicesAtOnce(Shape3 volume) const {
  const auto room = static_cast<int64_t>(locked_.size() / 2);
  return std::min(volume.slow, room / (volume.middle * volume.fast));
}

HostView3<float> StagedCopies::Part(int64_t turn, Shape3 slices) const {
  return {locked_.data() + (turn % 2) * static_cast<int64_t>(locked_.size() / 2), slices};
}

absl::Status StagedCopies::Upload(HostView3<const float> from, ops::VolumeBuffer& to) {
  const Shape3 shape = from.shape();
  const int64_t at_once = SlicesAtOnce(shape);
  int64_t turn = 0;
  for (int64_t first = 0; first < shape.slow; first += at_once, ++turn) {
    const int64_t count = std::min(at_once, shape.slow - first);
    const HostView3<float> part = Part(turn, {count, shape.middle, shape.fast});
    const absl::Status copied = CopyFinite(from.slices(first, count), threads_, part);
    // What was copied before has left the other part, which is next.
    ISO_RETURN_IF_ERROR(session_.Synchronize());
    ISO_RETURN_IF_ERROR(copied);
    ISO_RETURN_IF_ERROR(to.StartUpload(first, HostView3<const float>(part)));
  }
  return session_.Synchronize();
}

absl::Status StagedCopies::Download(ops::VolumeBuffer& from, HostView3<float> to) {
  const Shape3 shape = to.shape();
  const int64_t at_once = SlicesAtOnce(shape);
  const auto part_at = [&](int64_t first) {
    return Part(first / at_once, {std::min(at_once, shape.slow - first), shape.middle, shape.fast});
  };
  const auto start = [&](int64_t first) {
    return first < shape.slow ? from.StartDownload(first, part_at(first)) : absl::OkStatus();
  };
  ISO_RETURN_IF_ERROR(start(0));
  for (int64_t first = 0; first < shape.slow; first += at_once) {
    ISO_RETURN_IF_ERROR(session_.Synchronize());
    ISO_RETURN_IF_ERROR(start(first + at_once));
    const HostView3<float> part = part_at(first);
    threads_.ParallelFor(part.shape().slow, [&](int64_t z, int) {
      const std::span<const float> values = part.slices(z, 1).span();
      std::copy(values.begin(), values.end(), to.slices(first + z, 1).data());
    });
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
