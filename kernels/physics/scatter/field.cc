#include "kernels/physics/scatter/field.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace isocenter::physics {
namespace {

Reading Mixed(const Reading& a, const Reading& b, double weight_of_b) {
  return {a.signal + weight_of_b * (b.signal - a.signal),
          a.variance + weight_of_b * (b.variance - a.variance)};
}

// `count` readings that are `stride` apart, in place.
void Smooth(Reading* line, int count, int64_t stride) {
  Reading before = line[0];
  for (int i = 0; i < count; ++i) {
    const Reading own = line[i * stride];
    const Reading& next = line[std::min(i + 1, count - 1) * stride];
    line[i * stride] = Mixed(own, Mixed(before, next, 0.5), 0.5);
    before = own;
  }
}

}  // namespace

Reading BehindGrid(const Reading& primary, const Reading& scatter, const AntiScatterGrid& grid) {
  const double ratio = grid.scatter / grid.primary;
  return {primary.signal + ratio * scatter.signal,
          (primary.variance + ratio * scatter.variance) / grid.primary};
}

ScatterField::ScatterField(ScatterViews views, const Detector& detector, int frames)
    : views_(std::move(views)),
      frames_(ScatterFrames(views_.views, frames)),
      columns_(CellsOf(detector.columns, views_.columns)),
      rows_(CellsOf(detector.rows, views_.rows)) {
  assert(views_.readings.size() ==
         static_cast<size_t>(views_.views) * views_.rows * views_.columns);
  Reading* view = views_.readings.data();
  for (int k = 0; k < views_.views; ++k, view += int64_t{views_.rows} * views_.columns) {
    for (int v = 0; v < views_.rows; ++v) Smooth(view + v * views_.columns, views_.columns, 1);
    for (int u = 0; u < views_.columns; ++u) Smooth(view + u, views_.rows, views_.columns);
  }
}

std::vector<ScatterField::Between> ScatterField::CellsOf(int pixels, int cells) {
  std::vector<Between> all(pixels);
  for (int i = 0; i < pixels; ++i) {
    const double position = std::clamp((i + 0.5) * cells / pixels - 0.5, 0.0, cells - 1.0);
    const int first = std::min(static_cast<int>(position), std::max(0, cells - 2));
    all[i] = {first, std::min(first + 1, cells - 1), position - first};
  }
  return all;
}

ScatterField::Between ScatterField::ViewsOf(int frame) const {
  const auto above = std::upper_bound(frames_.begin(), frames_.end(), frame);
  const int next = static_cast<int>(above - frames_.begin());
  if (next == 0) return {0, 0, 0};
  if (above == frames_.end()) return {next - 1, next - 1, 0};
  const double step = *above - frames_[next - 1];
  return {next - 1, next, (frame - frames_[next - 1]) / step};
}

std::vector<Reading> ScatterField::CellsAt(int frame) const {
  const Between views = ViewsOf(frame);
  const int64_t size = int64_t{views_.rows} * views_.columns;
  std::vector<Reading> cells(size);
  for (int64_t i = 0; i < size; ++i) {
    cells[i] = Mixed(views_.readings[views.first * size + i],
                     views_.readings[views.second * size + i], views.weight);
  }
  return cells;
}

void ScatterField::AddTo(int frame, const AntiScatterGrid& grid, ThreadPool& pool,
                         std::span<Reading> readings) const {
  assert(readings.size() == columns_.size() * rows_.size());
  const std::vector<Reading> cells = CellsAt(frame);
  pool.ParallelFor(static_cast<int64_t>(rows_.size()), [&](int64_t v, int) {
    const Between row = rows_[v];
    const Reading* upper = &cells[int64_t{row.first} * views_.columns];
    const Reading* lower = &cells[int64_t{row.second} * views_.columns];
    for (size_t u = 0; u < columns_.size(); ++u) {
      const Between column = columns_[u];
      const Reading scatter =
          Mixed(Mixed(upper[column.first], upper[column.second], column.weight),
                Mixed(lower[column.first], lower[column.second], column.weight), row.weight);
      Reading& reading = readings[v * columns_.size() + u];
      reading = BehindGrid(reading, scatter, grid);
    }
  });
}

}  // namespace isocenter::physics
