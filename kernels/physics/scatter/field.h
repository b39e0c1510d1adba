// Scatter of all pixels of all frames, from a few views on a coarse grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/scatter/settings.h"

namespace isocenter::physics {

/// What was simulated, as it was drawn: ScatterImage of each view.
struct ScatterViews {
  int views = 0, columns = 0, rows = 0;
  std::vector<Reading> readings;  // [view][row][column]
};

/// A reading behind an anti-scatter grid. It is relative to what passes the grid without an object;
/// its variance times the photons in front of the grid without an object is that of the signal.
Reading BehindGrid(const Reading& primary, const Reading& scatter, const AntiScatterGrid& grid);

/// Each view's cells are smoothed by 1/4, 1/2, 1/4 along both axes (cells at the border count for
/// those beyond), which leaves 3/8 of the noise, and interpolated: linearly between views by the
/// frame's number, bilinearly between the cells' centres, with the outermost cell's beyond them.
class ScatterField {
 public:
  /// `views` were simulated for ScatterFrames(views.views, frames).
  ScatterField(ScatterViews views, const Detector& detector, int frames);

  /// Replaces the primary readings of a frame, [v][u], by those BehindGrid with scatter.
  void AddTo(int frame, const AntiScatterGrid& grid, ThreadPool& pool,
             std::span<Reading> readings) const;

 private:
  struct Between {  // two neighbours, and the weight of the second
    int first = 0, second = 0;
    double weight = 0;
  };
  static std::vector<Between> CellsOf(int pixels, int cells);
  Between ViewsOf(int frame) const;
  std::vector<Reading> CellsAt(int frame) const;

  ScatterViews views_;
  std::vector<int> frames_;  // of the views
  std::vector<Between> columns_, rows_;
};

}  // namespace isocenter::physics
