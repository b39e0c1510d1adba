#include "kernels/calibrate/geometry/shadows.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

// From the distances of common arms: 1.2 at the detector's side of the phantom, 2.2 at the tube's.
constexpr double kLeastMagnification = 1.2, kMostMagnification = 2.2;
constexpr double kLeastContrast = 0.1;
constexpr double kNoiseFactor = 6;
constexpr double kMostElongation = 1.35;
constexpr size_t kMostShadows = size_t{4} * kMostBeads;

// Means of bin x bin pixels.
struct Coarse {
  int bin = 1, columns = 0, rows = 0;
  std::vector<float> values;

  float at(int x, int y) const { return values[size_t(y) * columns + x]; }
};

Coarse Binned(const LogFrame& frame, int bin) {
  Coarse coarse{bin, frame.detector().columns / bin, frame.detector().rows / bin, {}};
  coarse.values.resize(size_t(coarse.columns) * coarse.rows);
  const float share = 1.0f / static_cast<float>(bin * bin);
  for (int y = 0; y < coarse.rows; ++y) {
    float* row = &coarse.values[size_t(y) * coarse.columns];
    for (int dy = 0; dy < bin; ++dy) {
      for (int x = 0, u = 0; x < coarse.columns; ++x) {
        float sum = 0;
        for (int dx = 0; dx < bin; ++dx, ++u) sum += frame.at(u, y * bin + dy);
        row[x] += share * sum;
      }
    }
  }
  return coarse;
}

// Least or largest of 2 * half + 1 neighbours along one axis; beyond the border there is nothing.
template <class Choose>
void Filter(Coarse& image, int half, bool along_rows, Choose choose) {
  const int length = along_rows ? image.columns : image.rows;
  const int lines = along_rows ? image.rows : image.columns;
  const int step = along_rows ? 1 : image.columns, next = along_rows ? image.columns : 1;
  std::vector<float> line(length);
  for (int l = 0; l < lines; ++l) {
    float* const first = &image.values[size_t(l) * next];
    for (int i = 0; i < length; ++i) line[i] = first[size_t(i) * step];
    for (int i = 0; i < length; ++i) {
      float chosen = line[i];
      const int end = std::min(length - 1, i + half);
      for (int k = std::max(0, i - half); k <= end; ++k) chosen = choose(chosen, line[k]);
      first[size_t(i) * step] = chosen;
    }
  }
}

// What a square of 2 * half + 1 pixels does not fit under (the white top-hat of morphology).
Coarse TopHat(const Coarse& image, int half) {
  Coarse opened = image;
  const auto least = [](float a, float b) { return std::min(a, b); };
  const auto largest = [](float a, float b) { return std::max(a, b); };
  for (const bool along_rows : {true, false}) Filter(opened, half, along_rows, least);
  for (const bool along_rows : {true, false}) Filter(opened, half, along_rows, largest);
  for (size_t i = 0; i < image.values.size(); ++i) {
    opened.values[i] = image.values[i] - opened.values[i];
  }
  return opened;
}

struct Peak {
  float value;
  int x, y;
};

std::vector<Peak> Peaks(const Coarse& hat) {
  const double noise = 1.4826 * Median(Thinned(hat.values, 1 << 14));
  const auto least = static_cast<float>(std::max(kLeastContrast, kNoiseFactor * noise));
  std::vector<Peak> peaks;
  for (int y = 1; y + 1 < hat.rows; ++y) {
    for (int x = 1; x + 1 < hat.columns; ++x) {
      const float value = hat.at(x, y);
      if (value < least) continue;
      bool highest = true;
      for (int i = 0; i < 9 && highest; ++i) {
        const float other = hat.at(x + i % 3 - 1, y + i / 3 - 1);
        highest = i < 4 ? other < value : other <= value;  // of equal ones the first
      }
      if (highest) peaks.push_back({value, x, y});
    }
  }
  std::ranges::sort(peaks, [](const Peak& a, const Peak& b) { return a.value > b.value; });
  if (peaks.size() > kMostShadows) peaks.resize(kMostShadows);
  return peaks;
}

// A square of the frame around a peak, in which the shadow is the part connected to the middle that
// is darker than half of it.
class Patch {
 public:
  Patch(const LogFrame& frame, int u, int v, int half)
      : half_(half), side_(2 * half + 1), u_(u), v_(v), values_(size_t(side_) * side_) {
    for (int y = 0; y < side_; ++y) {
      for (int x = 0; x < side_; ++x) value(x, y) = frame.at(u - half + x, v - half + y);
    }
  }

  /// False: it is not round, or reaches the border of the patch.
  bool Measure(RoundShadow& shadow) {
    const double around = Around();
    int x = half_, y = half_;
    for (int i = 0; i < 49; ++i) {
      const int nx = half_ + i % 7 - 3, ny = half_ + i / 7 - 3;
      if (value(nx, ny) > value(x, y)) x = nx, y = ny;
    }
    const double half_dark = (value(x, y) + around) / 2;
    if (!(half_dark - around > kLeastContrast / 2) || !Fill(x, y, half_dark)) return false;
    return Moments(around, shadow);
  }

 private:
  float& value(int x, int y) { return values_[size_t(y) * side_ + x]; }

  double Around() {
    std::vector<double> border;
    for (int i = 0; i < side_; ++i) {
      for (const auto [x, y] : {std::pair{i, 0}, {i, side_ - 1}, {0, i}, {side_ - 1, i}}) {
        border.push_back(value(x, y));
      }
    }
    return Median(std::move(border));
  }

  bool Fill(int x, int y, double least) {
    region_.assign(1, y * side_ + x);
    std::vector<bool> taken(values_.size());
    taken[region_[0]] = true;
    for (size_t i = 0; i < region_.size(); ++i) {
      const int rx = region_[i] % side_, ry = region_[i] / side_;
      if (rx == 0 || ry == 0 || rx == side_ - 1 || ry == side_ - 1) return false;
      for (const int n : {region_[i] - 1, region_[i] + 1, region_[i] - side_, region_[i] + side_}) {
        if (taken[n] || values_[n] < least) continue;
        taken[n] = true;
        region_.push_back(n);
      }
    }
    return true;
  }

  bool Moments(double around, RoundShadow& shadow) const {
    double sum = 0, su = 0, sv = 0;
    for (const int n : region_) {
      const double weight = values_[n] - around;
      sum += weight;
      su += weight * (n % side_);
      sv += weight * (n / side_);
    }
    const double cu = su / sum, cv = sv / sum;
    double uu = 0, vv = 0, uv = 0;
    for (const int n : region_) {
      const double du = n % side_ - cu, dv = n / side_ - cv;
      uu += du * du + 1.0 / 12;
      vv += dv * dv + 1.0 / 12;
      uv += du * dv;
    }
    const double mean = (uu + vv) / 2, spread = std::hypot((uu - vv) / 2, uv);
    if (mean + spread > kMostElongation * kMostElongation * (mean - spread)) return false;
    shadow = {u_ - half_ + cu, v_ - half_ + cv,
              std::sqrt(static_cast<double>(region_.size()) / kPi)};
    return true;
  }

  int half_, side_, u_, v_;
  std::vector<float> values_;
  std::vector<int> region_;
};

}  // namespace

std::vector<float> LogTable(double i0_counts) {
  std::vector<float> table(65536);
  for (int c = 0; c < 65536; ++c) {
    table[c] = static_cast<float>(std::log(i0_counts / std::max(0.5, static_cast<double>(c))));
  }
  return table;
}

ShadowSizes SizesOf(const BeadTable& table, const Detector& detector) {
  const auto [small, large] =
      std::ranges::minmax_element(table, {}, [](const Bead& bead) { return bead.diameter_mm; });
  return {
      kLeastMagnification * small->diameter_mm / std::max(detector.pitch_u_mm, detector.pitch_v_mm),
      kMostMagnification * large->diameter_mm / std::min(detector.pitch_u_mm, detector.pitch_v_mm)};
}

std::vector<RoundShadow> FindShadows(const LogFrame& frame, ShadowSizes sizes) {
  const int bin = std::clamp(static_cast<int>(sizes.least_px / 2), 1, 8);
  const Coarse hat = TopHat(Binned(frame, bin), static_cast<int>(sizes.most_px / bin / 2) + 2);
  const int half = static_cast<int>(std::ceil(sizes.most_px / 2)) + 3;
  std::vector<RoundShadow> shadows;
  for (const Peak& peak : Peaks(hat)) {
    const int u = peak.x * bin + bin / 2, v = peak.y * bin + bin / 2;
    if (u < half || v < half || u + half >= frame.detector().columns ||
        v + half >= frame.detector().rows) {
      continue;
    }
    RoundShadow shadow;
    if (!Patch(frame, u, v, half).Measure(shadow)) continue;
    if (2 * shadow.radius_px > sizes.most_px) continue;
    // Two peaks of one shadow.
    const bool known = std::ranges::any_of(shadows, [&](const RoundShadow& other) {
      return std::hypot(other.u - shadow.u, other.v - shadow.v) < shadow.radius_px;
    });
    if (!known) shadows.push_back(shadow);
  }
  return shadows;
}

}  // namespace isocenter::calibrate
