// Whether what is scanned is wider or longer than the grid that an iterative method explains it
// with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// A ray that passes beside the grid, at the height of its slices, measures what no voxel stands
/// for. A view shows an object that is wider than the grid where of the rows that are looked at and
/// have such rays more than kRows have a mean line integral above kLine over a few columns of them,
/// and a scan does where more than kViews of its views show one: a table's edge or a cable does
/// not. An object that is longer than the grid is shown by rays that pass above its top or below
/// its bottom, in more than kRowsPastEnds of the rows that see the object: rays through the grid's
/// first and last slices leave it by its ends. A neck's last rows do not.
///
/// Line integrals are those of CutRows. Not thread-safe. Filtered back-projection does not mind;
/// iterative methods let voxels inside stand for what is outside, and are wrong by hundreds of HU
/// in the middle (docs/iterative.md).
///
/// Coarse voxels around a grid do not know where the object's edges are, and a grid that is only a
/// few of them high takes what they are wrong by: with kLeastCoarse of them the middle is right.
class BeyondGrid {
 public:
  /// Of the result, where voxels that are `factor` times as coarse surround it.
  struct Surrounded {
    VolumeGrid grid;
    int factor = 1;
  };
  static constexpr double kLine = 0.5;  // 25 mm of water
  static constexpr double kRows = 0.25;
  static constexpr double kRowsPastEnds = 0.2;
  static constexpr double kViews = 0.1;
  static constexpr int kLeastCoarse = 6;

  /// `acquisition`: valid; must outlive this. `grid`: all that voxels stand for, with their
  /// surroundings. `surrounded`: what they surround.
  BeyondGrid(const Acquisition& acquisition, const VolumeGrid& grid,
             const std::optional<Surrounded>& surrounded = std::nullopt);

  /// A view of `frames` (by its index there), each once. `matrix`: normalised. `dose`: what the
  /// frame tells; 0: nothing.
  void Add(const ProjectionMatrix& matrix, const ops::RawFrames& frames, int view, double dose);

  /// After the last view: sentences for people; none where the grid holds the object.
  std::vector<std::string> Texts() const;

 private:
  /// Of a view.
  struct Rows {
    int asked = 0, above_line = 0;
    double most_line = 0;
    void Count(double line);
  };
  /// Of a view and a grid: rays beside it, and those past its ends.
  struct Looked {
    Rows beside, past;
  };
  Looked LookAt(const VolumeGrid& grid, const ProjectionMatrix& matrix,
                const ops::RawFrames& frames, int view, double dose) const;
  /// Of the scan.
  struct Views {
    int views = 0;
    double most_line = 0;
    void Count(const Rows& rows, double share);
  };

  const Acquisition& acquisition_;
  const VolumeGrid grid_;
  const std::optional<Surrounded> low_;  // that is fewer coarse voxels high than kLeastCoarse
  const int columns_;                    // that are looked at together
  Views wide_, long_, past_low_;
};

}  // namespace isocenter::recon
