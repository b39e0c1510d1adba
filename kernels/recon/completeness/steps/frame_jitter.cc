#include "kernels/recon/completeness/steps/frame_jitter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/source_position.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr size_t kFrames = 3;
constexpr int kMostPieces = 160;
constexpr double kMostGapDeg = 5;  // of neighbouring frames
constexpr size_t kLeastShifts = 20;
// Two middles are taken off, of neighbouring frames each: of independent shifts it has so many
// times their standard deviation.
const double kTimesSigma = std::sqrt(1.5 * 1.5 + 2 * 1 + 2 * 0.25 * 0.25);
constexpr double kOfMiddle = 0.6745;  // of a normal distribution's absolute values, the middle one

}  // namespace

FrameJitter::FrameJitter(const Acquisition& acquisition)
    : acquisition_(acquisition),
      width_((acquisition.detector.columns + kMostPieces - 1) / kMostPieces),
      pieces_(acquisition.detector.columns / width_) {}

std::vector<float> FrameJitter::LinesOf(std::span<const FrameRow> rows) const {
  std::vector<float> lines;
  lines.reserve(rows.size() * pieces_);
  for (const FrameRow& row : rows) {
    for (int piece = 0; piece < pieces_; ++piece) {
      const RowSum sum = SumOf(acquisition_, row, piece * width_, width_);
      lines.push_back(static_cast<float>(LineOf(acquisition_, sum, 0)));
    }
  }
  return lines;
}

void FrameJitter::Add(int view, std::span<const FrameRow> rows) {
  if (view != last_view_ + 1) last_.clear();
  last_view_ = view;
  last_.push_back(LinesOf(rows));
  if (last_.size() < kFrames) return;
  if (const std::optional<Shift> shift = ShiftOf(view - 1)) shifts_.push_back(*shift);
  last_.erase(last_.begin());
}

std::optional<FrameJitter::Shift> FrameJitter::ShiftOf(int view) const {
  const Trajectory& matrices = acquisition_.trajectory;
  const auto turn = [&](int from) {
    return RadiansToDegrees(AngleBetween(SourceOf(matrices[from]), SourceOf(matrices[from + 1])));
  };
  if (turn(view - 1) > kMostGapDeg || turn(view) > kMostGapDeg) return std::nullopt;
  const std::vector<float>&before = last_[0], &here = last_[1], &after = last_[2];
  double dose = 0;
  for (size_t i = 0; i < here.size(); ++i) dose += here[i] - 0.5 * (before[i] + after[i]);
  dose /= static_cast<double>(here.size());
  double squares = 0, slopes = 0, along = 0;
  for (size_t i = 1; i + 1 < here.size(); ++i) {
    const auto piece = static_cast<int>(i % pieces_);
    if (piece == 0 || piece == pieces_ - 1) continue;
    const double slope =
        (before[i + 1] + after[i + 1] - before[i - 1] - after[i - 1]) / (4.0 * width_);
    const double difference = here[i] - 0.5 * (before[i] + after[i]) - dose;
    squares += difference * difference;
    slopes += slope * slope;
    along += slope * difference;
  }
  if (!(squares > 0) || !(slopes > 0)) return std::nullopt;
  const auto isocentre = [&](int of) { return matrices[of].Project({0, 0, 0}).u(); };
  const double known = isocentre(view) - 0.5 * (isocentre(view - 1) + isocentre(view + 1));
  return Shift{view, -along / slopes - known, along * along / (slopes * squares)};
}

std::optional<std::string> FrameJitter::Text() const {
  std::vector<double> uneven, explained;
  for (size_t i = 1; i + 1 < shifts_.size(); ++i) {
    if (shifts_[i + 1].view - shifts_[i - 1].view != 2) continue;
    uneven.push_back(std::abs(shifts_[i].px - 0.5 * (shifts_[i - 1].px + shifts_[i + 1].px)));
    explained.push_back(shifts_[i].explained);
  }
  if (uneven.size() < kLeastShifts) return std::nullopt;
  const double sigma = MedianOf(uneven) / kOfMiddle / kTimesSigma, share = MedianOf(explained);
  if (!(sigma > kMostPx) || share < kExplained) return std::nullopt;
  return absl::StrFormat(
      "frames lie to and fro along their rows: beside the middle of their neighbours by %.1f px "
      "(standard deviation), beyond what the matrices say; legal is up to %g px: the read-out "
      "begins its rows at another column from frame to frame, or the arm vibrates. Edges are "
      "doubled or blurred by that",
      sigma, kMostPx);
}

}  // namespace isocenter::recon
