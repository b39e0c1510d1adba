#include "kernels/recon/completeness/steps/still_views.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/source_position.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kGaps[] = {1, 2, 4};
constexpr double kMostGapDeg = 5;  // of frames, times the gap
constexpr int kMostPieces = 96, kLeastColumns = 4;
constexpr double kSigmas = 2;
constexpr int kLeastOfScan = 20;  // changes
constexpr int kLeastChanges = StillViews::kLeastFrames - 1;
// Of the middle turn between frames: an arm that has hardly begun to turn may well stand.
constexpr double kLeastTurn = 0.3;

double TurnBetween(const ProjectionMatrix& a, const ProjectionMatrix& b) {
  return RadiansToDegrees(AngleBetween(SourceOf(a), SourceOf(b)));
}

}  // namespace

StillViews::StillViews(const Acquisition& acquisition)
    : acquisition_(acquisition),
      pieces_(std::min(kMostPieces, acquisition.detector.columns / kLeastColumns)),
      lines_(acquisition.trajectory.size()) {}

void StillViews::Add(int view, std::span<const FrameRow> rows) {
  const int columns = acquisition_.detector.columns;
  for (const FrameRow& row : rows) {
    for (int piece = 0; piece < pieces_; ++piece) {
      const int first = piece * columns / pieces_, width = columns / pieces_ / 2 * 2;
      for (const int start : {first, first + 1}) {
        const RowSum sum = SumOf(acquisition_, row, start, width - (start - first), 2);
        lines_[view].push_back(static_cast<float>(LineOf(acquisition_, sum, 0)));
      }
    }
  }
}

std::optional<StillViews::Change> StillViews::ChangeOf(int view, int gap, double least_turn) const {
  const double turn =
      TurnBetween(acquisition_.trajectory[view - gap], acquisition_.trajectory[view]);
  if (!(turn > least_turn) || turn > gap * kMostGapDeg) return std::nullopt;
  const std::vector<float>&now = lines_[view], &then = lines_[view - gap];
  if (now.empty() || then.empty()) return std::nullopt;
  double dose = 0;
  for (size_t i = 0; i < now.size(); ++i) dose += now[i] - then[i];
  dose /= static_cast<double>(now.size());
  double products = 0, squares = 0;
  const size_t n = now.size() / 2;
  for (size_t i = 0; i < now.size(); i += 2) {
    const double product = (now[i] - then[i] - dose) * (now[i + 1] - then[i + 1] - dose);
    products += product;
    squares += product * product;
  }
  const auto count = static_cast<double>(n);
  const double by_turn = 1 / (turn * turn * count);
  return Change{.object = products * by_turn, .sigma = std::sqrt(squares) * by_turn};
}

std::vector<std::optional<StillViews::Change>> StillViews::Changes(int gap) const {
  const auto views = static_cast<int>(acquisition_.trajectory.size());
  std::vector<double> turns;
  for (int view = gap; view < views; ++view) {
    turns.push_back(
        TurnBetween(acquisition_.trajectory[view - gap], acquisition_.trajectory[view]));
  }
  std::vector<std::optional<Change>> changes(views);
  if (turns.empty()) return changes;
  const double least_turn = kLeastTurn * MedianOf(turns);
  for (int view = gap; view < views; ++view) changes[view] = ChangeOf(view, gap, least_turn);
  return changes;
}

std::optional<std::string> StillViews::TextOf(const std::vector<std::optional<Change>>& changes,
                                              int gap, double usual) const {
  const auto views = static_cast<int>(changes.size());
  const auto most = [&](int view) {
    return std::abs(changes[view]->object) + kSigmas * changes[view]->sigma;
  };
  const auto is_still = [&](int view) {
    return view < views && changes[view] && most(view) < kStill * usual;
  };
  for (int first = gap; first < views; ++first) {
    if (!is_still(first)) continue;
    int last = first;
    double of_run = most(first);
    while (is_still(last + 1)) of_run = std::max(of_run, most(++last));
    const auto moves = [&](int view) {
      return view >= gap && view < views && changes[view] &&
             changes[view]->object > std::max(kMoves * usual, of_run / kStill);
    };
    const int begin = first - gap;
    if (last - first + 1 >= kLeastChanges * gap && moves(first - gap) && moves(last + gap)) {
      return absl::StrFormat(
          "frames %d to %d show the same view: they differ by their noise alone, where other "
          "frames of the scan differ by the object's turn, and their matrices turn by %.1f "
          "degrees: the arm stood still while frames were taken; legal is the matrix of where it "
          "was for "
          "each. HU and shapes are off, by tens of HU for ten frames of a hundred",
          begin, last, TurnBetween(acquisition_.trajectory[begin], acquisition_.trajectory[last]));
    }
    first = last;
  }
  return std::nullopt;
}

std::optional<std::string> StillViews::Text() const {
  for (const int gap : kGaps) {
    const std::vector<std::optional<Change>> changes = Changes(gap);
    std::vector<double> objects;
    for (const std::optional<Change>& change : changes) {
      if (change) objects.push_back(change->object);
    }
    if (objects.size() < kLeastOfScan) return std::nullopt;
    const double usual = MedianOf(objects);
    if (auto text = TextOf(changes, gap, usual)) return text;
  }
  return std::nullopt;
}

}  // namespace isocenter::recon
