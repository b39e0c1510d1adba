// A flat detector with its faults, as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"

namespace isocenter::physics {

/// Everything is off by default: no number of a device is one of all devices.
struct DetectorModel {
  double signal_counts = 50000;      // of an unattenuated pixel above the offset; 1 to 65535
  double photons = 0;                // of it per pixel and frame; 0: no quantum noise; up to 1e12
  double electronic_counts = 0;      // standard deviation of the read-out; 0 to 10000
  double saturation_counts = 65535;  // no pixel reads more; 1 to 65535

  double offset_counts = 0;         // mean of the offset map; 0 to 60000
  double offset_spread_counts = 0;  // its standard deviation; 0 to 10000
  double gain_spread = 0;           // relative standard deviation of the gain map; 0 to 0.3

  double defective_pixels = 0;   // share of all; 0 to 0.05
  int dead_lines = 0;            // whole rows or columns; 0 to 100
  int dead_clusters = 0;         // discs; 0 to 1000
  double cluster_radius_px = 2;  // 0.5 to 20

  /// A pixel keeps `share` of its signal back (0 to 0.5, together at most 0.9) and gives away
  /// `release` of what it keeps with each frame (1e-6 to 1): a falling exponential. The first frame
  /// after a long exposure reads the sum of the shares (Hsieh et al., Proc. SPIE 3977 (2000) 190
  /// has the same sum of exponentials).
  /// Traps that are filled keep nothing: with `capacity_counts` (1 to 1e9; 0: without end) a term
  /// that holds q keeps share·(1 - q/capacity), so that bright exposures lag relatively less
  /// (Starman et al., Med. Phys. 39 (2012) 6035 measured it, and has another form for it).
  struct LagTerm {
    double share = 0, release = 1, capacity_counts = 0;
  };
  std::vector<LagTerm> lag;  // up to 8

  double glare_share = 0;      // of the light that spreads; 0 to 0.5
  double glare_length_mm = 5;  // how far; 0.01 to 100

  double dose = 1;          // of all frames; 0.01 to 100
  double dose_flicker = 0;  // half width of the uniform deviation of a frame's dose; 0 to 0.2
  double dose_swing = 0;    // amplitude of a slow deviation, one period in a sweep; 0 to 0.2

  uint64_t seed = 1;  // of maps and defects
  /// Of doses and noise, which every scan of a detector has others of; unset: seed.
  std::optional<uint64_t> noise_seed{};

  uint64_t scan_seed() const { return noise_seed.value_or(seed); }
};

/// Errors: INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status ValidateDetectorModel(const DetectorModel& model);

enum class PixelState : uint8_t {
  kGood,
  kDead,  // reads its offset
  kHot,   // reads saturation
};

/// What a calibration would have to find. All are [v][u]; the same seed gives the same on every
/// machine.
struct DetectorMaps {
  std::vector<double> offset_counts;  // not negative
  std::vector<double> gain;           // within three standard deviations of 1
  std::vector<PixelState> states;
};

/// Half of the defective pixels are dead, half hot; lines and clusters are dead. `model` is valid.
DetectorMaps MakeDetectorMaps(const DetectorModel& model, const Detector& detector);

/// Dose of each frame relative to the nominal one: dose·(1 + flicker·U(-1, 1))·(1 +
/// swing·sin(2πk/n)).
std::vector<double> FrameDoses(const DetectorModel& model, int frames);

}  // namespace isocenter::physics
