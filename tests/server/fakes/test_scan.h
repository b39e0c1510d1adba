// A small acquisition that computes in milliseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/recon/plan.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::testing {

/// 40 views over 360 degrees of a 36x28 detector onto 32^3 voxels.
inline pipeline::AcquisitionRequest SmallRequest(
    recon::PixelType type = recon::PixelType::kFloat32LineIntegrals) {
  pipeline::AcquisitionRequest request;
  request.protocol = "fdk";
  request.acquisition.detector = {.columns = 36, .rows = 28, .pitch_u_mm = 8, .pitch_v_mm = 8};
  request.acquisition.pixel_type = type;
  request.acquisition.i0_counts = 60000;
  constexpr int kViews = 40;
  request.acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                                       .source_to_isocenter_mm = 750,
                                                       .source_to_detector_mm = 1200,
                                                       .arc = 2 * kPi * (kViews - 1) / kViews},
                                                      request.acquisition.detector);
  request.grid = CenteredGrid(32, 32, 32, {4, 4, 4});
  return request;
}

/// One frame's pixels: a smooth bump that differs from view to view.
inline std::string SmallFrame(const recon::Acquisition& acquisition, int view) {
  const Detector& detector = acquisition.detector;
  std::string bytes;
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      const double x = (u - 0.5 * detector.columns) / detector.columns;
      const double y = (v - 0.5 * detector.rows) / detector.rows;
      const float value =
          static_cast<float>(3 * std::exp(-20 * (x * x + y * y)) * (1 + 0.01 * (view % 7)));
      if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
        const auto counts =
            static_cast<uint16_t>(std::lround(acquisition.i0_counts * std::exp(-value)));
        bytes.append(reinterpret_cast<const char*>(&counts), sizeof(counts));
      } else {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
  }
  return bytes;
}

}  // namespace isocenter::testing
