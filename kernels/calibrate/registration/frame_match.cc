#include "kernels/calibrate/registration/frame_match.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

namespace isocenter::calibrate {
namespace {

constexpr double kHuber = 2;  // standard deviations beyond which residuals count less
constexpr double kInsideSigmas = 3;

std::vector<float> GaussianOf(double sigma) {
  const int radius = std::max(1, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<float> kernel(2 * radius + 1);
  float sum = 0;
  for (int i = -radius; i <= radius; ++i) {
    kernel[i + radius] = static_cast<float>(std::exp(-0.5 * i * i / (sigma * sigma)));
    sum += kernel[i + radius];
  }
  for (float& weight : kernel) weight /= sum;
  return kernel;
}

// The border's pixels go on beyond it.
std::vector<float> Smoothed(std::span<const float> image, int columns, int rows, double sigma) {
  const std::vector<float> kernel = GaussianOf(sigma);
  const int radius = static_cast<int>(kernel.size()) / 2;
  std::vector<float> along_u(image.size()), result(image.size(), 0.0F);
  std::vector<float> padded(columns + 2 * radius);
  for (int v = 0; v < rows; ++v) {
    const float* const row = &image[static_cast<size_t>(v) * columns];
    for (int i = 0; i < columns + 2 * radius; ++i) {
      padded[i] = row[std::clamp(i - radius, 0, columns - 1)];
    }
    float* const out = &along_u[static_cast<size_t>(v) * columns];
    std::fill_n(out, columns, 0.0F);
    for (int k = 0; k <= 2 * radius; ++k) {
      for (int u = 0; u < columns; ++u) out[u] += kernel[k] * padded[u + k];
    }
  }
  for (int v = 0; v < rows; ++v) {
    float* const out = &result[static_cast<size_t>(v) * columns];
    for (int k = -radius; k <= radius; ++k) {
      const float* const row =
          &along_u[static_cast<size_t>(std::clamp(v + k, 0, rows - 1)) * columns];
      for (int u = 0; u < columns; ++u) out[u] += kernel[k + radius] * row[u];
    }
  }
  return result;
}

// Central differences, 0 at the border.
std::vector<float> AlongU(const std::vector<float>& image, int columns, int rows) {
  std::vector<float> result(image.size(), 0.0F);
  for (int v = 0; v < rows; ++v) {
    const size_t row = static_cast<size_t>(v) * columns;
    for (int u = 1; u + 1 < columns; ++u) {
      result[row + u] = 0.5F * (image[row + u + 1] - image[row + u - 1]);
    }
  }
  return result;
}

std::vector<float> AlongV(const std::vector<float>& image, int columns, int rows) {
  std::vector<float> result(image.size(), 0.0F);
  for (int v = 1; v + 1 < rows; ++v) {
    const size_t row = static_cast<size_t>(v) * columns;
    for (int u = 0; u < columns; ++u) {
      result[row + u] = 0.5F * (image[row + columns + u] - image[row - columns + u]);
    }
  }
  return result;
}

struct Moments {
  double count = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  void Add(double x, double y) {
    ++count;
    a += x, b += y;
    aa += x * x, bb += y * y, ab += x * y;
  }
  double Correlation() const {
    if (count < 2) return 0;
    const double square = (aa - a * a / count) * (bb - b * b / count);
    return square > 0 ? (ab - a * b / count) / std::sqrt(square) : 0;
  }
};

// Values of both derivatives where they count.
Eigen::VectorXd Gathered(const EdgeImage& edges, std::span<const uint8_t> counts, int64_t pixels) {
  Eigen::VectorXd values(2 * pixels);
  int64_t next = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    values[next++] = edges.along_u[i];
    values[next++] = edges.along_v[i];
  }
  return values;
}

// Weights of residuals: their scale is that of pixels where the computed frame has edges, which
// noise and what has changed both make longer.
Eigen::VectorXd HuberWeights(const Eigen::VectorXd& residuals, const Eigen::VectorXd& computed,
                             double& sigma) {
  const double edge = std::sqrt(computed.squaredNorm() / static_cast<double>(computed.size()));
  std::vector<double> lengths;
  for (int64_t i = 0; i < residuals.size(); ++i) {
    if (std::abs(computed[i]) >= edge) lengths.push_back(std::abs(residuals[i]));
  }
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(residuals.size());
  sigma = 0;
  if (lengths.empty()) return weights;
  const auto middle = lengths.begin() + static_cast<int64_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  sigma = 1.4826 * *middle;
  if (!(sigma > 0)) {  // they agree exactly
    sigma = 1e-12 + 1e-6 * edge;
  }
  for (int64_t i = 0; i < residuals.size(); ++i) {
    weights[i] = std::min(1.0, kHuber * sigma / std::max(1e-300, std::abs(residuals[i])));
  }
  return weights;
}

}  // namespace

EdgeImage EdgesOf(std::span<const float> lines, int columns, int rows, double sigma_px) {
  const std::vector<float> smooth = Smoothed(lines, columns, rows, sigma_px);
  return {.columns = columns,
          .rows = rows,
          .along_u = AlongU(smooth, columns, rows),
          .along_v = AlongV(smooth, columns, rows)};
}

std::vector<EdgeImage> ChangesByShift(const EdgeImage& edges) {
  const int columns = edges.columns, rows = edges.rows;
  std::vector<EdgeImage> changes = {
      {columns, rows, AlongU(edges.along_u, columns, rows), AlongU(edges.along_v, columns, rows)},
      {columns, rows, AlongV(edges.along_u, columns, rows), AlongV(edges.along_v, columns, rows)}};
  for (EdgeImage& change : changes) {
    for (float& edge : change.along_u) edge = -edge;
    for (float& edge : change.along_v) edge = -edge;
  }
  return changes;
}

std::vector<uint8_t> WellInside(std::span<const uint8_t> covered, int columns, int rows,
                                double sigma_px) {
  const int margin = 1 + static_cast<int>(std::ceil(kInsideSigmas * sigma_px));
  // The nearest pixel that is not covered, along rows and then along columns.
  std::vector<uint8_t> row_inside(covered.size()), inside(covered.size());
  const auto erode = [&](std::span<const uint8_t> from, int count, int lines, int64_t step,
                         int64_t line_step, std::vector<uint8_t>& to) {
    for (int line = 0; line < lines; ++line) {
      int run = 0;  // covered pixels up to here
      for (int i = 0; i < count; ++i) {
        const int64_t at = line * line_step + i * step;
        run = from[at] != 0 ? run + 1 : 0;
        // Pixel i - margin has `margin` covered ones on both sides.
        if (i >= 2 * margin) to[at - margin * step] = run > 2 * margin ? 1 : 0;
      }
    }
  };
  erode(covered, columns, rows, 1, columns, row_inside);
  erode(row_inside, rows, columns, columns, 1, inside);
  return inside;
}

double GradientCorrelation(const EdgeImage& measured, const EdgeImage& computed,
                           std::span<const uint8_t> counts) {
  Moments u, v;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    u.Add(measured.along_u[i], computed.along_u[i]);
    v.Add(measured.along_v[i], computed.along_v[i]);
  }
  return (u.Correlation() + v.Correlation()) / 2;
}

NormalEquations Compare(const EdgeImage& measured, const EdgeImage& computed,
                        std::span<const EdgeImage> changes, std::span<const uint8_t> counts) {
  const size_t unknowns = changes.size();
  NormalEquations equations{.matrix = std::vector<double>(unknowns * unknowns, 0.0),
                            .right = std::vector<double>(unknowns, 0.0)};
  const int64_t pixels = std::count_if(counts.begin(), counts.end(), [](uint8_t c) { return c; });
  if (pixels == 0) return equations;
  const Eigen::VectorXd g = Gathered(measured, counts, pixels);
  const Eigen::VectorXd h = Gathered(computed, counts, pixels);
  const double square = h.squaredNorm();
  if (!(square > 0)) return equations;
  double scale = std::max(0.0, h.dot(g) / square);
  double sigma = 0;
  const Eigen::VectorXd weights = HuberWeights(g - scale * h, h, sigma);
  const Eigen::VectorXd weighted = weights.cwiseProduct(h);
  scale = std::max(0.0, weighted.dot(g) / weighted.dot(h));
  const Eigen::VectorXd residuals = g - scale * h;
  std::vector<Eigen::VectorXd> columns;
  for (const EdgeImage& change : changes) {
    Eigen::VectorXd column = scale * Gathered(change, counts, pixels);
    column -= h * (weighted.dot(column) / weighted.dot(h));  // a frame's own scale is free
    columns.push_back(std::move(column));
  }
  for (size_t i = 0; i < unknowns; ++i) {
    const Eigen::VectorXd column = weights.cwiseProduct(columns[i]) / (sigma * sigma);
    equations.right[i] = column.dot(residuals);
    for (size_t j = 0; j < unknowns; ++j) {
      equations.matrix[i * unknowns + j] = column.dot(columns[j]);
    }
  }
  return equations;
}

std::vector<double> Solve(std::span<const double> matrix, std::span<const double> right,
                          double damping) {
  const auto n = static_cast<int64_t>(right.size());
  Eigen::MatrixXd a =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          matrix.data(), n, n);
  for (int64_t i = 0; i < n; ++i) {
    a(i, i) = a(i, i) > 0 ? (1 + damping) * a(i, i) : 1;
  }
  const Eigen::VectorXd b = Eigen::Map<const Eigen::VectorXd>(right.data(), n);
  const Eigen::VectorXd x = a.ldlt().solve(b);
  return {x.data(), x.data() + n};
}

}  // namespace isocenter::calibrate
