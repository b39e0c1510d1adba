#include "kernels/calibrate/consistency/line_view.h"

#include <algorithm>
#include <cmath>

#include "kernels/geometry/source_position.h"

namespace isocenter::calibrate {
namespace {

constexpr int kColumns = 320;
// Rows that the differences across a line reach to on each side, with most of the smoothing.
constexpr int kReach = 6;
constexpr int kSmoothReach = 6;
// A line shorter than this share of its axis says little.
constexpr double kLeastShare = 0.3;
constexpr int kAirPixels = 4;  // the outermost of a line
// Transmission that corrected frames are known to: half of one of the largest counts.
constexpr double kLeastTransmission = 0.5 / 65535;

ProjectionMatrix Binned(const ProjectionMatrix& matrix, int binning) {
  ProjectionMatrix binned = matrix;
  for (int i = 0; i < 8; ++i) {
    binned.m[i] = (matrix.m[i] - (binning - 1) / 2.0 * matrix.m[8 + i % 4]) / binning;
  }
  return binned;
}

double Determinant(const std::array<double, 9>& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

}  // namespace

int ConsistencyBinning(const Detector& detector) {
  return std::max(1, (detector.columns + kColumns - 1) / kColumns);
}

// across = start + slope·along.
struct LineView::Track {
  bool turned = false;  // runs along rows' numbers
  double start = 0, slope = 0;
  int first = 0, last = -1;  // along, where all that it needs is on the detector
  double gradient = 0;       // of the plane's distance, by pixels across the line
};

LineView::LineView(const Detector& detector, int binning, const ProjectionMatrix& matrix)
    : binning_(binning),
      columns_(detector.columns / binning),
      rows_(detector.rows / binning),
      weighted_(static_cast<size_t>(columns_) * rows_),
      inverse_(InverseLeft(Binned(matrix, binning))),
      determinant_(std::abs(Determinant(inverse_))),
      source_(SourceOf(Binned(matrix, binning))) {}

LineView::LineView(std::span<const uint16_t> counts, const Detector& detector, double i0_counts,
                   int binning, const ProjectionMatrix& matrix)
    : LineView(detector, binning, matrix) {
  const auto sum = [&](int u, int v) {
    uint32_t total = 0;
    for (int r = 0; r < binning; ++r) {
      const uint16_t* first = counts.data() +
                              (static_cast<size_t>(v) * binning + r) * detector.columns +
                              static_cast<size_t>(u) * binning;
      for (int c = 0; c < binning; ++c) total += first[c];
    }
    return static_cast<double>(total);
  };
  Weigh(sum, i0_counts * binning * binning, 0.5);
}

LineView::LineView(std::span<const float> line_integrals, const Detector& detector, int binning,
                   const ProjectionMatrix& matrix)
    : LineView(detector, binning, matrix) {
  const auto sum = [&](int u, int v) {
    double total = 0;
    for (int r = 0; r < binning; ++r) {
      const float* first = line_integrals.data() +
                           (static_cast<size_t>(v) * binning + r) * detector.columns +
                           static_cast<size_t>(u) * binning;
      for (int c = 0; c < binning; ++c) total += std::exp(-first[c]);
    }
    return total;
  };
  Weigh(sum, binning * binning, kLeastTransmission);
}

void LineView::Weigh(absl::FunctionRef<double(int u, int v)> sum, double full, double least) {
  for (int v = 0; v < rows_; ++v) {
    for (int u = 0; u < columns_; ++u) {
      const auto& m = inverse_;
      const Vec3 ray{m[0] * u + m[1] * v + m[2], m[3] * u + m[4] * v + m[5],
                     m[6] * u + m[7] * v + m[8]};
      const auto line = std::log(static_cast<float>(full / std::max(least, sum(u, v))));
      weighted_[static_cast<size_t>(v) * columns_ + u] = line / static_cast<float>(Norm(ray));
    }
  }
  Smooth();
}

// Along columns' numbers, then along rows'; beyond the border is what the border has.
void LineView::Smooth() {
  std::array<float, kSmoothReach + 1> kernel{};
  double sum = 0;
  for (int k = 0; k <= kSmoothReach; ++k) {
    kernel[k] =
        static_cast<float>(std::exp(-k * k / (2 * kConsistencySigmaPx * kConsistencySigmaPx)));
    sum += (k == 0 ? 1 : 2) * kernel[k];
  }
  for (float& value : kernel) value /= static_cast<float>(sum);
  std::vector<float> padded(columns_ + 2 * kSmoothReach);
  for (int v = 0; v < rows_; ++v) {
    float* row = weighted_.data() + static_cast<size_t>(v) * columns_;
    for (int i = 0; i < static_cast<int>(padded.size()); ++i) {
      padded[i] = row[std::clamp(i - kSmoothReach, 0, columns_ - 1)];
    }
    for (int u = 0; u < columns_; ++u) {
      const float* middle = padded.data() + u + kSmoothReach;
      float value = kernel[0] * middle[0];
      for (int k = 1; k <= kSmoothReach; ++k) value += kernel[k] * (middle[-k] + middle[k]);
      row[u] = value;
    }
  }
  const std::vector<float> across = weighted_;
  for (int v = 0; v < rows_; ++v) {
    float* row = weighted_.data() + static_cast<size_t>(v) * columns_;
    for (int u = 0; u < columns_; ++u) row[u] *= kernel[0];
    for (int k = 1; k <= kSmoothReach; ++k) {
      const float* above = across.data() + static_cast<size_t>(std::max(0, v - k)) * columns_;
      const float* below =
          across.data() + static_cast<size_t>(std::min(rows_ - 1, v + k)) * columns_;
      for (int u = 0; u < columns_; ++u) row[u] += kernel[k] * (above[u] + below[u]);
    }
  }
}

// Mean line integral of the outermost pixels.
double LineView::End(const Track& track, int along) const {
  const int step = along == track.first ? 1 : -1;
  double sum = 0;
  for (int k = 0; k < kAirPixels; ++k) {
    const int at_along = along + k * step;
    const int across = static_cast<int>(std::lround(track.start + track.slope * at_along));
    const double u = track.turned ? across : at_along, v = track.turned ? at_along : across;
    const auto& m = inverse_;
    const Vec3 ray{m[0] * u + m[1] * v + m[2], m[3] * u + m[4] * v + m[5],
                   m[6] * u + m[7] * v + m[8]};
    sum += at(track.turned, at_along, across) * Norm(ray);
  }
  return sum / kAirPixels;
}

// Along lines at -1.5, -0.5, 0.5 and 1.5 pixels across: differences are the derivative, and its
// own, by the line's place across and, with the place along, by its slope.
LineSample LineView::Integrate(const Track& track) const {
  double first = 0, second = 0, turning = 0;
  for (int along = track.first; along <= track.last; ++along) {
    const double across = track.start + track.slope * along - 1.5;
    const int row = static_cast<int>(std::floor(across));
    const auto f = static_cast<float>(across - row);
    std::array<float, 4> value{};
    float before = at(track.turned, along, row);
    for (int k = 0; k < 4; ++k) {
      const float next = at(track.turned, along, row + k + 1);
      value[k] = before + f * (next - before);
      before = next;
    }
    const double bend = (value[3] - value[2] - value[1] + value[0]) / 2;
    first += value[2] - value[1];
    second += bend;
    turning += bend * along;
  }
  const double scale = determinant_ / (track.gradient * std::abs(track.gradient));
  LineSample sample;
  sample.state = LineState::kGood;
  // A gradient along falling numbers turns the difference around: `scale` has its sign.
  sample.derivative = scale * first;
  // Content that moves up across the line is content that was below it.
  const double slope = -scale * second / binning_;
  (track.turned ? sample.by_u : sample.by_v) = slope;
  (track.turned ? sample.by_v : sample.by_u) = -track.slope * slope;
  // The line is a·along + b·across + c = 0, and b is the gradient: start = -c/b, slope = -a/b.
  const double b = track.gradient;
  const double by_a = -scale * turning / b, by_c = -scale * second / b;
  const double by_b = track.start * by_c + track.slope * by_a - 2 * sample.derivative / b;
  const double by_first = track.turned ? by_b : by_a, by_second = track.turned ? by_a : by_b;
  const auto& m = inverse_;
  sample.by_normal = {m[0] * by_first + m[1] * by_second + m[2] * by_c,
                      m[3] * by_first + m[4] * by_second + m[5] * by_c,
                      m[6] * by_first + m[7] * by_second + m[8] * by_c};
  return sample;
}

LineSample LineView::Sample(Vec3 normal) const {
  const auto& m = inverse_;
  double a = m[0] * normal.x + m[3] * normal.y + m[6] * normal.z;
  double b = m[1] * normal.x + m[4] * normal.y + m[7] * normal.z;
  const double c = m[2] * normal.x + m[5] * normal.y + m[8] * normal.z;
  Track track;
  track.turned = std::abs(a) > std::abs(b);
  const int length = track.turned ? rows_ : columns_, width = track.turned ? columns_ : rows_;
  if (track.turned) std::swap(a, b);
  if (b == 0) return {};
  track.start = -c / b;
  track.slope = -a / b;
  track.gradient = b;
  double first = 0, last = length - 1;
  const double low = kReach, high = width - 1 - kReach;
  if (std::abs(track.slope) < 1e-12) {
    if (!(track.start >= low && track.start <= high)) return {};
  } else {
    double at_low = (low - track.start) / track.slope, at_high = (high - track.start) / track.slope;
    if (at_low > at_high) std::swap(at_low, at_high);
    first = std::max(first, at_low);
    last = std::min(last, at_high);
  }
  if (!(last - first >= kLeastShare * length)) return {};
  track.first = static_cast<int>(std::ceil(first));
  track.last = static_cast<int>(std::floor(last));
  LineSample cut{.state = LineState::kTruncated};
  bool air = true;
  for (const int along : {track.first, track.last}) {
    const double end = End(track, along);
    if (std::abs(end) <= kMostAir) continue;
    air = false;
    cut.ends_off_air += end < kObject ? 1 : 0;
  }
  return air ? Integrate(track) : cut;
}

}  // namespace isocenter::calibrate
