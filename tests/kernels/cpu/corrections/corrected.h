// What the cpu makes of one frame.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/backends.h"
#include "kernels/geometry/detector.h"
#include "tests/opened_session.h"

namespace isocenter::cpu {

/// [v][u] of one detector.
using Frame = std::vector<double>;

/// Behind an ellipsoid of water, 240 mm x 180 mm as the detector sees it and 200 mm deep, that is
/// not in the middle; mu is 0.02/mm. Air around it.
inline Frame BehindWater(const Detector& detector) {
  Frame frame(size_t(detector.rows) * detector.columns);
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      const double x = (u - 0.47 * detector.columns) * detector.pitch_u_mm / 120;
      const double y = (v - 0.55 * detector.rows) * detector.pitch_v_mm / 90;
      frame[size_t(v) * detector.columns + u] =
          std::exp(-0.02 * 200 * std::sqrt(std::max(0.0, 1 - x * x - y * y)));
    }
  }
  return frame;
}

/// Calls `run` with the frame in a stack, and gives back what is there then.
inline Frame Corrected(
    const Detector& detector, const Frame& frame,
    const std::function<absl::Status(ops::Session&, ops::ProjectionStack&)>& run) {
  auto session = OpenSession(Backends(), "cpu", {.threads = 2});
  EXPECT_TRUE(session.ok()) << session.status();
  const Shape3 shape{1, detector.rows, detector.columns};
  auto stack = (**session).NewProjectionStack(shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack.ok()) << stack.status();
  std::vector<float> pixels(frame.begin(), frame.end());
  EXPECT_TRUE((*stack)->Upload(0, HostView3<const float>(pixels.data(), shape)).ok());
  const absl::Status status = run(**session, **stack);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE((*stack)->Download(0, HostView3<float>(pixels.data(), shape)).ok());
  return {pixels.begin(), pixels.end()};
}

/// How wrong line integrals are.
struct LineError {
  double rms = 0, largest = 0;
};
inline LineError ErrorOf(const Frame& got, const Frame& truth) {
  LineError error;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double difference = std::log(got[i] / truth[i]);
    error.rms += difference * difference / static_cast<double>(truth.size());
    // A NaN must not pass for a small difference.
    if (!(std::abs(difference) <= error.largest)) error.largest = std::abs(difference);
  }
  error.rms = std::sqrt(error.rms);
  return error;
}

}  // namespace isocenter::cpu
