// Shifts of frames that make what they say of planes agree.
#pragma once

#include <span>
#include <vector>

namespace isocenter::calibrate {

/// What two frames say of one plane: of `first` less of `second`, and what shifts of their contents
/// by one pixel add to each.
struct PlaneDifference {
  int first = 0, second = 0;
  float difference = 0;
  float first_by_u = 0, first_by_v = 0, second_by_u = 0, second_by_v = 0;
};

struct FrameShift {
  double u_px = 0, v_px = 0;              // of the frame's content against its matrix
  double u_sigma_px = 0, v_sigma_px = 0;  // standard deviations
};

struct ShiftFit {
  std::vector<FrameShift> shifts;
  double before = 0, after = 0;  // median absolute difference without and with the shifts
};

/// Least squares with Cauchy's weights, all frames at once. Shifts are drawn to 0 with a standard
/// deviation of 2 pixels, which settles what no difference shows, as a shift of all frames that
/// only moves the volume.
ShiftFit FitShifts(const std::vector<PlaneDifference>& differences, int frames);

/// The same for shifts that are sums of given curves over the scan, alike along u and v: `curves`
/// [frame][curve].
ShiftFit FitShifts(const std::vector<PlaneDifference>& differences, int frames,
                   std::span<const double> curves);

}  // namespace isocenter::calibrate
