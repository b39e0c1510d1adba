#include "kernels/geometry/tangent_rows.h"

#include <cmath>

namespace isocenter {

TangentRows MakeTangentRows(const FanBeamGeometry& g, int per_channel) {
  TangentRows rows;
  rows.step = std::tan(g.channel_angle / per_channel);
  rows.first = std::tan(g.FanAngle(-1));
  const double last = std::tan(g.FanAngle(g.channels));
  const auto steps = static_cast<int64_t>(std::ceil((last - rows.first) / rows.step));
  for (int64_t i = 0; i <= steps; ++i) {
    const double tangent = rows.first + static_cast<double>(i) * rows.step;
    rows.positions.push_back(g.central_channel + std::atan(tangent) / g.channel_angle);
  }
  return rows;
}

int64_t MostTangentElements(int64_t channels, int per_channel) {
  // The slope of the tangent at the end of the widest fan is 4; on average over it, it is 1.66.
  return 2 * (channels + 2) * per_channel + 2;
}

}  // namespace isocenter
