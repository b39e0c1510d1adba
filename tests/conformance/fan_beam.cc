#include "tests/conformance/fan_beam.h"

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::conformance {
namespace {

using Detector = FanBeamGeometry::Detector;

// A fan of `half_angle` on either side.
FanBeamGeometry Scan(Detector detector, int channels, double half_angle, int views, double arc) {
  FanBeamGeometry g{.detector = detector,
                    .source_to_axis_mm = 300,
                    .source_to_detector_mm = 500,
                    .channels = channels,
                    .channel_angle = 2 * half_angle / channels,
                    .channel_pitch_mm = 2 * 500 * std::tan(half_angle) / channels,
                    .central_channel = 0.5 * (channels - 1) + 0.25,
                    .views = views,
                    .first_angle = -0.7,
                    .arc = arc};
  return g;
}

VolumeGrid Shifted(VolumeGrid grid) {
  grid.origin.x += 7.3;
  grid.origin.y -= 3.1;
  return grid;
}

VolumeGrid Turned(VolumeGrid grid) {
  const double c = std::cos(0.4), s = std::sin(0.4);
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  return grid;
}

}  // namespace

std::vector<FanBeamCase> FanBeamCases() {
  const double full = 2 * kPi, short_arc = kPi + 2 * 0.45;
  const VolumeGrid square = CenteredGrid(50, 50, 1, {2, 2, 1});
  return {
      {"arc", Scan(Detector::kArc, 111, 0.35, 60, full), square},
      {"arc_backwards", Scan(Detector::kArc, 112, 0.35, 60, -full), square},
      {"arc_odd_grid", Scan(Detector::kArc, 130, 0.35, 40, full),
       CenteredGrid(33, 33, 1, {4, 4, 1})},
      {"arc_views_not_by_four", Scan(Detector::kArc, 111, 0.35, 58, full), square},
      {"arc_short", Scan(Detector::kArc, 111, 0.35, 61, short_arc), square},
      {"arc_short_backwards", Scan(Detector::kArc, 111, 0.35, 61, -short_arc), square},
      {"arc_oblong", Scan(Detector::kArc, 100, 0.35, 24, full),
       Shifted(CenteredGrid(70, 19, 1, {1.5, 2.5, 1}))},
      {"arc_turned_grid", Scan(Detector::kArc, 100, 0.3, 24, full),
       Turned(CenteredGrid(31, 40, 1, {2, 2, 1}))},
      {"arc_wide_fan", Scan(Detector::kArc, 200, 0.95, 36, full), square},
      // Pixels so large that neighbors see channels far apart; the outer ones are not seen.
      {"arc_coarse_grid", Scan(Detector::kArc, 300, 0.35, 40, full),
       CenteredGrid(24, 24, 1, {12, 12, 1})},
      // The source moves through the grid.
      {"arc_beyond_source", Scan(Detector::kArc, 111, 0.35, 40, full),
       CenteredGrid(41, 41, 1, {20, 20, 1}), true},
      {"arc_fine_grid", Scan(Detector::kArc, 64, 0.35, 16, full),
       CenteredGrid(600, 600, 1, {0.2, 0.2, 1})},
      {"flat", Scan(Detector::kFlat, 111, 0.35, 60, full), square},
      {"flat_backwards", Scan(Detector::kFlat, 96, 0.35, 60, -full), square},
      {"flat_short", Scan(Detector::kFlat, 111, 0.35, 61, short_arc), square},
      {"flat_wide_fan", Scan(Detector::kFlat, 200, 0.95, 36, full), square},
      {"flat_beyond_source", Scan(Detector::kFlat, 111, 0.35, 40, full),
       CenteredGrid(41, 41, 1, {20, 20, 1}), true},
      {"two_channels", Scan(Detector::kArc, 2, 0.001, 4, full),
       CenteredGrid(5, 5, 1, {0.1, 0.1, 1})},
  };
}

}  // namespace isocenter::conformance
