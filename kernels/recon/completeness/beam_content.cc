#include "kernels/recon/completeness/beam_content.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/ops/corrections.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kPixels = 2;  // of a value: a dead pixel alone is no object

int StepOf(const Acquisition& acquisition) {
  const auto views = static_cast<int>(acquisition.trajectory.size());
  return std::max(1, (views + BeamContent::kMostViews - 1) / BeamContent::kMostViews);
}

}  // namespace

BeamContent::BeamContent(const Acquisition& acquisition)
    : acquisition_(acquisition), step_(StepOf(acquisition)) {}

void BeamContent::Add(int view, std::span<const FrameRow> rows, double dose) {
  if (view % step_ != 0) return;
  int64_t values = 0;
  std::vector<double> lines;
  for (const FrameRow& row : rows) {
    for (int u = 0; u + kPixels <= acquisition_.detector.columns; u += kPixels) {
      const RowSum sum = SumOf(acquisition_, row, u, kPixels);
      ++values;
      // Of line integrals, SumOf leaves out those that are too long; of counts, those of nothing.
      if (sum.used < kPixels) too_long_ += 1;
      if (sum.used > 0) lines.push_back(LineOf(acquisition_, sum, dose));
    }
  }
  if (values == 0) return;
  ++views_;
  values_ += values;
  if (lines.empty()) return;
  const auto above = [&lines](double least) {
    return std::ranges::count_if(lines, [least](double line) { return line > least; });
  };
  object_ += above(kObject);
  negative_ += static_cast<int64_t>(lines.size()) - above(-kObject);
  // Counts whose dose is not told are as bright as they are: an object is darker than the rest.
  double air = 0;
  if (acquisition_.pixel_type == PixelType::kUint16Counts && !(dose > 0)) {
    const auto quarter = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 4);
    std::ranges::nth_element(lines, quarter);
    air = *quarter;
  }
  fullest_ =
      std::max(fullest_, static_cast<double>(above(air + kObject)) / static_cast<double>(values));
}

std::optional<std::string> BeamContent::Text() const {
  if (views_ < kLeastViews) return std::nullopt;
  const auto share = [this](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(values_);
  };
  if (acquisition_.pixel_type == PixelType::kFloat32LineIntegrals) {
    if (share(too_long_) > kTooLong) {
      return absl::StrFormat(
          "%s of the line integrals are beyond %g or not finite, and the volume is of no use; "
          "legal are natural logarithms ln(I0 / I), of which no detector sees such: are they "
          "counts, or in another unit?",
          ShareText(share(too_long_)), ops::kLongestLineIntegral);
    }
    if (negative_ > object_) {
      return absl::StrFormat(
          "%s of the line integrals are below %g and %s above %g; legal are ln(I0 / I), "
          "which is positive behind an object: is the sign that of ln(I / I0)?",
          ShareText(share(negative_)), -kObject, ShareText(share(object_)), kObject);
    }
  }
  if (fullest_ > kEmpty) return std::nullopt;
  return absl::StrFormat(
      "no object is in the beam: in none of %d views that were looked at more than %.1f %% of the "
      "pixels attenuate by a line integral of %g; expected is a patient or a phantom",
      views_, 100 * kEmpty, kObject);
}

}  // namespace isocenter::recon
