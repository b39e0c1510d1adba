// A set of calibrations that has every part, on a detector of few pixels.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "kernels/base/units.h"
#include "kernels/ops/calibration.h"
#include "proto/wire/calibration.h"

namespace isocenter::wire {

constexpr Detector kCalibratedDetector{
    .columns = 40, .rows = 24, .pitch_u_mm = 0.4, .pitch_v_mm = 0.3};

inline ops::Calibration FullCalibration(const Detector& detector = kCalibratedDetector) {
  const auto pixels = static_cast<size_t>(detector.columns) * detector.rows;
  ops::Calibration calibration{.name = "room1_2026-03", .detector = detector};
  calibration.response.emplace();
  for (size_t i = 0; i < pixels; ++i) {
    calibration.response->offset_counts.push_back(100 + 0.25F * static_cast<float>(i % 7));
    calibration.response->air_counts.push_back(50000 + static_cast<float>(i % 11));
  }
  calibration.response->full_scale_counts = 64000;
  calibration.defects.pixels = {5, 41, 42, detector.columns * (detector.rows - 1) + 3};
  calibration.lag = {{.share = 0.03, .release = 0.5}, {.share = 0.01, .release = 0.02}};
  calibration.glare = {{.share = 0.05, .sigma_mm = 3}};
  calibration.air.columns = 16;
  const int blocks = ops::AirSweep::Blocks(detector.columns) * ops::AirSweep::Blocks(detector.rows);
  for (int degrees = -180; degrees <= 180; degrees += 15) {
    calibration.air_sweep.angles.push_back(DegreesToRadians(degrees));
    for (int i = 0; i < blocks; ++i) {
      calibration.air_sweep.relative.push_back(1 + 0.01F * static_cast<float>(i % 5));
    }
  }
  calibration.scatter = {
      .groups = {{.amplitude = 0.1, .narrow_sigma_mm = 20, .wide_sigma_mm = 60, .wide_share = 0.5},
                 {.from_mm = 100,
                  .amplitude = 0.2,
                  .alpha = 0.9,
                  .beta = 1.1,
                  .narrow_sigma_mm = 25,
                  .wide_sigma_mm = 70}},
      .mu_water_per_mm = 0.02,
      .gamma_per_mm = 0.001,
      .thickest_mm = 210};
  calibration.scatter_model = ops::ScatterModel{.scale = 0.2};
  calibration.water.coefficient = {1, 0.02};
  for (int u = 0; u < detector.columns; ++u) {
    calibration.water.hardness.push_back(0.25F * static_cast<float>(u % 4));
  }
  calibration.water.thickest_mm = 200;
  calibration.mu_water_per_mm = 0.021;
  calibration.hounsfield.points = {{-990, -1000}, {0, 0}, {1100, 1000}};
  calibration.hounsfield.made_with = {{"scatter", 0x12345678}, {"water", 7}};
  calibration.bone = {.line_integrals = 3,
                      .bones = 2,
                      .most_line_integral = 8,
                      .most_bone_mm = 90,
                      .added = {0, 0, 0, 0.5, 0.4, 0.6},
                      .from_hu = 100,
                      .full_hu = 1700};
  return calibration;
}

/// The same as its set, valid in the first half of 2026.
inline v1::CalibrationSet FullSet(const Detector& detector = kCalibratedDetector) {
  v1::CalibrationSet set = ToProto(FullCalibration(detector));
  set.set_station_name("room1");
  set.set_detector_mode("2x2-30fps");
  set.set_tube_voltage_kv(90);
  SetTime(absl::FromCivil(absl::CivilDay(2026, 1, 1), absl::UTCTimeZone()),
          *set.mutable_valid_from());
  SetTime(absl::FromCivil(absl::CivilDay(2026, 7, 1), absl::UTCTimeZone()),
          *set.mutable_valid_until());
  SetTime(absl::FromUnixMillis(1767225600123), *set.mutable_created());
  set.set_description("after the tube was changed");
  v1::QualityFigure& figure = *set.add_quality();
  figure.set_name("gain non-uniformity after");
  figure.set_value(0.4);
  figure.set_unit("%");
  set.set_picture_png("\x89PNG\r\n\x1a\n and so on");
  return set;
}

}  // namespace isocenter::wire
