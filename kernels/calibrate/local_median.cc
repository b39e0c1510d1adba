#include "kernels/calibrate/local_median.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

struct Tiles {
  int columns = 0, rows = 0;
  std::vector<double> value;  // [row][column]

  double at(int row, int column) const { return value[size_t(row) * columns + column]; }
};

Tiles MediansOfTiles(std::span<const float> map, const Detector& detector) {
  // Parts of tiles at the end belong to the last whole one.
  Tiles tiles{.columns = std::max(1, detector.columns / kMedianTile),
              .rows = std::max(1, detector.rows / kMedianTile)};
  for (int row = 0; row < tiles.rows; ++row) {
    for (int column = 0; column < tiles.columns; ++column) {
      const int end_v = row + 1 == tiles.rows ? detector.rows : (row + 1) * kMedianTile;
      const int end_u = column + 1 == tiles.columns ? detector.columns : (column + 1) * kMedianTile;
      std::vector<double> values;
      for (int v = row * kMedianTile; v < end_v; ++v) {
        for (int u = column * kMedianTile; u < end_u; ++u) {
          values.push_back(map[size_t(v) * detector.columns + u]);
        }
      }
      tiles.value.push_back(Median(std::move(values)));
    }
  }
  return tiles;
}

Tiles MediansOfNeighbours(const Tiles& tiles) {
  Tiles smooth{.columns = tiles.columns, .rows = tiles.rows};
  for (int row = 0; row < tiles.rows; ++row) {
    for (int column = 0; column < tiles.columns; ++column) {
      std::vector<double> values;
      for (int r = std::max(0, row - 1); r <= std::min(tiles.rows - 1, row + 1); ++r) {
        for (int c = std::max(0, column - 1); c <= std::min(tiles.columns - 1, column + 1); ++c) {
          values.push_back(tiles.at(r, c));
        }
      }
      smooth.value.push_back(Median(std::move(values)));
    }
  }
  return smooth;
}

/// Between which tiles a pixel is, and how far on the way.
struct Between {
  int first = 0, second = 0;
  double share = 0;
};

Between Place(int pixel, int tiles) {
  const double place =
      std::clamp((pixel + 0.5) / kMedianTile - 0.5, 0.0, static_cast<double>(tiles - 1));
  const int first = static_cast<int>(place);
  return {first, std::min(first + 1, tiles - 1), place - first};
}

}  // namespace

std::vector<float> LocalMedian(std::span<const float> map, const Detector& detector) {
  assert(map.size() == size_t(detector.columns) * detector.rows);
  const Tiles tiles = MediansOfNeighbours(MediansOfTiles(map, detector));
  std::vector<float> local(map.size());
  for (int v = 0; v < detector.rows; ++v) {
    const Between row = Place(v, tiles.rows);
    for (int u = 0; u < detector.columns; ++u) {
      const Between column = Place(u, tiles.columns);
      const auto along = [&](int r) {
        return std::lerp(tiles.at(r, column.first), tiles.at(r, column.second), column.share);
      };
      local[size_t(v) * detector.columns + u] =
          static_cast<float>(std::lerp(along(row.first), along(row.second), row.share));
    }
  }
  return local;
}

}  // namespace isocenter::calibrate
