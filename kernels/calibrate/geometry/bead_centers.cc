#include "kernels/calibrate/geometry/bead_centers.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr int kBackgroundPx = 4;       // on each side of the window
constexpr double kWindowRoomPx = 2.5;  // around the shadow
constexpr int kMostMoves = 12;
constexpr double kStillPx = 1e-4;
// Of the median of signal per diameter.
constexpr double kMissingShare = 0.25, kLeastShare = 0.5, kMostShare = 1.7;
// Of a shadow's root mean square radius to the median of all, relative to the predicted radius.
constexpr double kMostSpreadRatio = 1.15;

struct Predicted {
  double u, v, radius;  // pixels
  double px_per_mm;
};

std::vector<Predicted> Predict(const BeadTable& table, const Pinhole& camera) {
  std::vector<Predicted> all;
  for (const Bead& bead : table) {
    const Eigen::Vector2d at = camera.Project(bead.center);
    const double px_per_mm = camera.focal / camera.Depth(bead.center);
    all.push_back({at.x(), at.y(), px_per_mm * bead.diameter_mm / 2, px_per_mm});
  }
  return all;
}

double WindowOf(const Predicted& bead) { return bead.radius + kWindowRoomPx; }

// The frame, with the axis that the background runs along as its second.
class Turned {
 public:
  Turned(const LogFrame& frame, bool along_rows) : frame_(frame), along_rows_(along_rows) {}

  int width() const { return along_rows_ ? frame_.detector().rows : frame_.detector().columns; }
  int height() const { return along_rows_ ? frame_.detector().columns : frame_.detector().rows; }
  float at(int across, int along) const {
    return along_rows_ ? frame_.at(along, across) : frame_.at(across, along);
  }

 private:
  const LogFrame& frame_;
  const bool along_rows_;
};

struct Center {
  double across, along;  // pixels
  double signal;         // mean darkness above the background within the shadow's half
  double spread;         // root mean square radius
  double mass;           // all that the shadow adds to the background
};

// What a shadow adds to its background, in a square around a place.
class Signal {
 public:
  Signal(const Turned& frame, int across, int along, int half)
      : first_across_(across - half),
        first_along_(along - half),
        side_(2 * half + 1),
        values_(size_t(side_) * side_) {
    for (int a = 0; a < side_; ++a) {
      double before = 0, behind = 0;
      for (int k = 1; k <= kBackgroundPx; ++k) {
        before += frame.at(first_across_ + a, first_along_ - k);
        behind += frame.at(first_across_ + a, first_along_ + side_ - 1 + k);
      }
      before /= kBackgroundPx;
      behind /= kBackgroundPx;
      // The two means stand in the middles of their pixels.
      const double slope = (behind - before) / (side_ + kBackgroundPx);
      const double start = before + slope * (kBackgroundPx + 1) / 2.0;
      for (int b = 0; b < side_; ++b) {
        values_[size_t(b) * side_ + a] =
            static_cast<float>(frame.at(first_across_ + a, first_along_ + b) - (start + slope * b));
      }
    }
  }

  /// Moments in a round window whose border is as wide as a pixel.
  Center Moments(double across, double along, double window, double inner) const {
    double sum = 0, sa = 0, sb = 0, square = 0, inner_sum = 0, inner_count = 0;
    for (int b = 0; b < side_; ++b) {
      const double db = first_along_ + b - along;
      for (int a = 0; a < side_; ++a) {
        const double da = first_across_ + a - across;
        const double distance = std::sqrt(da * da + db * db);
        const double inside = std::clamp(window + 0.5 - distance, 0.0, 1.0);
        if (inside == 0) continue;
        const double value = inside * values_[size_t(b) * side_ + a];
        sum += value;
        sa += value * da;
        sb += value * db;
        square += value * (da * da + db * db);
        if (distance > inner) continue;
        inner_sum += value;
        inner_count += 1;
      }
    }
    return {across + sa / sum, along + sb / sum, inner_count > 0 ? inner_sum / inner_count : 0,
            std::sqrt(std::max(0.0, square / sum)), sum};
  }

 private:
  int first_across_, first_along_, side_;
  std::vector<float> values_;
};

// nullopt: outside of the detector.
std::optional<Center> Follow(const Turned& frame, double across, double along, double window,
                             double radius, double search) {
  const double start_across = across, start_along = along;
  const int half = static_cast<int>(std::ceil(window)) + 1;
  const double inner = std::max(1.0, radius / 2);
  std::optional<Center> center;
  int last_a = -1, last_b = -1;
  std::optional<Signal> signal;
  for (int move = 0; move < kMostMoves; ++move) {
    const int a = static_cast<int>(std::lround(across)), b = static_cast<int>(std::lround(along));
    if (a < half || a + half >= frame.width() || b < half + kBackgroundPx ||
        b + half + kBackgroundPx >= frame.height()) {
      return std::nullopt;
    }
    if (a != last_a || b != last_b) signal.emplace(frame, a, b, half);
    last_a = a;
    last_b = b;
    center = signal->Moments(across, along, window, inner);
    const double moved = std::hypot(center->across - across, center->along - along);
    // Of noise alone the middle may be anywhere.
    if (!(moved <= window) ||
        std::hypot(center->across - start_across, center->along - start_along) > search) {
      center->signal = 0;
      return center;
    }
    across = center->across;
    along = center->along;
    if (moved < kStillPx) break;
  }
  return center;
}

bool Crowded(const std::vector<Predicted>& all, size_t i, bool along_rows) {
  const double window = WindowOf(all[i]) + 1;
  for (size_t j = 0; j < all.size(); ++j) {
    if (j == i) continue;
    double across = std::abs(all[i].u - all[j].u), along = std::abs(all[i].v - all[j].v);
    if (along_rows) std::swap(across, along);
    const double room = window + all[j].radius + 1;
    if (across < room && along < room + kBackgroundPx) return true;
  }
  return false;
}

// What is unlike most of the shadows of the frame.
void Judge(const std::vector<Predicted>& predicted, const std::vector<std::optional<Center>>& found,
           const BeadTable& table, std::vector<BeadState>& states) {
  std::vector<double> signals, spreads;
  for (size_t i = 0; i < found.size(); ++i) {
    if (states[i] != BeadState::kMeasured) continue;
    signals.push_back(found[i]->signal / table[i].diameter_mm);
    spreads.push_back(found[i]->spread / (predicted[i].radius + 1));
  }
  if (signals.empty()) return;
  const double signal = Median(signals), spread = Median(spreads);
  for (size_t i = 0; i < found.size(); ++i) {
    if (states[i] != BeadState::kMeasured) continue;
    const double share = found[i]->signal / table[i].diameter_mm / signal;
    const double ratio = found[i]->spread / (predicted[i].radius + 1) / spread;
    if (!(share >= kMissingShare)) {
      states[i] = BeadState::kMissing;
    } else if (!(share >= kLeastShare && share <= kMostShare && ratio <= kMostSpreadRatio &&
                 ratio >= 1 / kMostSpreadRatio)) {
      states[i] = BeadState::kOdd;
    }
  }
}

}  // namespace

BeadCenters MeasureCenters(const LogFrame& frame, const BeadTable& table, const Pinhole& camera,
                           double search_mm) {
  const std::vector<Predicted> predicted = Predict(table, camera);
  const Eigen::Vector3d z_axis = camera.rotation.col(2);
  const bool along_rows = std::abs(z_axis.x()) > std::abs(z_axis.y());
  const Turned turned(frame, along_rows);
  std::vector<std::optional<Center>> found(table.size());
  BeadCenters centers{{}, std::vector<BeadState>(table.size(), BeadState::kMeasured)};
  for (size_t i = 0; i < table.size(); ++i) {
    const Predicted& bead = predicted[i];
    if (Crowded(predicted, i, along_rows)) {
      centers.states[i] = BeadState::kCrowded;
      continue;
    }
    found[i] = Follow(turned, along_rows ? bead.v : bead.u, along_rows ? bead.u : bead.v,
                      WindowOf(bead), bead.radius, search_mm * bead.px_per_mm);
    if (!found[i]) centers.states[i] = BeadState::kOutside;
  }
  Judge(predicted, found, table, centers.states);
  centers.sizes.assign(table.size(), 0);
  for (size_t i = 0; i < table.size(); ++i) {
    const BeadState state = centers.states[i];
    if (state == BeadState::kMeasured || state == BeadState::kOdd) {
      const double pixels = predicted[i].px_per_mm * predicted[i].px_per_mm;
      centers.sizes[i] = std::cbrt(found[i]->mass / pixels) / table[i].diameter_mm;
    }
    if (state != BeadState::kMeasured) continue;
    const double across = found[i]->across, along = found[i]->along;
    centers.shadows.push_back(
        {static_cast<int>(i), along_rows ? along : across, along_rows ? across : along});
  }
  return centers;
}

}  // namespace isocenter::calibrate
