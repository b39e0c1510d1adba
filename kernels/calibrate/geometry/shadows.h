// Small round shadows in a frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/geometry/detector.h"
#include "kernels/geometry/phantom_tables/bead_table.h"

namespace isocenter::calibrate {

/// Counts as line integrals.
class LogFrame {
 public:
  /// `table` as LogTable makes it; both live longer than this.
  LogFrame(std::span<const uint16_t> counts, std::span<const float> table, const Detector& detector)
      : counts_(counts), table_(table), detector_(detector) {}

  const Detector& detector() const { return detector_; }
  float at(int u, int v) const { return table_[counts_[size_t(v) * detector_.columns + u]]; }

 private:
  std::span<const uint16_t> counts_;
  std::span<const float> table_;
  const Detector& detector_;
};

/// ln(i0 / counts) of 0 to 65535 counts, with that of half a count for none.
std::vector<float> LogTable(double i0_counts);

/// Sizes in pixels that the shadows of a table's balls may have, wherever the source stands.
struct ShadowSizes {
  double least_px, most_px;
};
ShadowSizes SizesOf(const BeadTable& table, const Detector& detector);

struct RoundShadow {
  double u = 0, v = 0;   // pixels, to about half a pixel
  double radius_px = 0;  // where it is half as dark as in its middle
};

/// What is darker than all around it, small and about as wide as high; shadows that touch are left
/// out. At most 4 * kMostBeads, the darkest first.
std::vector<RoundShadow> FindShadows(const LogFrame& frame, ShadowSizes sizes);

}  // namespace isocenter::calibrate
