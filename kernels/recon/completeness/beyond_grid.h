// Whether what is scanned is wider than the grid that an iterative method explains it with.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// A ray that passes beside the grid, at the height of its slices, measures what no voxel stands
/// for. A view shows an object that is wider than the grid where of the rows that are looked at and
/// have such rays more than kRows have a mean line integral above kLine over a few columns of them,
/// and a scan does where more than kViews of its views show one: a table's edge or a cable does
/// not. What lies above or below the grid, as a neck always does, is not asked for.
///
/// Line integrals are those of CutRows. Not thread-safe. Filtered back-projection does not mind;
/// iterative methods let voxels inside stand for what is outside, and are wrong by hundreds of HU
/// in the middle (docs/iterative.md).
class BeyondGrid {
 public:
  static constexpr double kLine = 0.5;  // 25 mm of water
  static constexpr double kRows = 0.25;
  static constexpr double kViews = 0.1;

  /// `acquisition`: valid; both must outlive this.
  BeyondGrid(const Acquisition& acquisition, const VolumeGrid& grid);

  /// A view of `frames` (by its index there), each once. `matrix`: normalised. `dose`: what the
  /// frame tells; 0: nothing.
  void Add(const ProjectionMatrix& matrix, const ops::RawFrames& frames, int view, double dose);

  /// After the last view: a sentence for people; nothing where the grid holds the object.
  std::optional<std::string> Text() const;

 private:
  const Acquisition& acquisition_;
  const VolumeGrid& grid_;
  const int columns_;  // that are looked at together
  int wide_views_ = 0;
  double most_line_ = 0;
};

}  // namespace isocenter::recon
