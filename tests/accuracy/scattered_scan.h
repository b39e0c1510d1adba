// Scans in a polychromatic beam with the simulator's Monte Carlo scatter, for corrections that have
// nothing of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/scatter/field.h"
#include "kernels/recon/acquisition.h"
#include "tests/accuracy/polychromatic_scan.h"

namespace isocenter {

/// Counts of one object, [view][v][u]: as they are, and without scatter.
struct ScatteredCounts {
  std::vector<uint16_t> scattered, primary;
  double most_ratio = 0;  // of scatter to primary
};

class ScatteredScan {
 public:
  ScatteredScan(const Detector& detector, int views, double kv);

  const recon::Acquisition& acquisition() const { return acquisition_; }
  /// From now on the calibration has a model of this scale.
  void SetScale(double scale);
  /// `photons` of each pixel without an object, which make noise; 0: none.
  ScatteredCounts Counts(const std::vector<HuBody>& bodies, double photons = 0) const;

 private:
  physics::ScatterViews Scatter(const phantom::Phantom& object) const;

  const PolychromaticScan scan_;
  recon::Acquisition acquisition_;
  double kv_, kev_ = 0;
};

}  // namespace isocenter
