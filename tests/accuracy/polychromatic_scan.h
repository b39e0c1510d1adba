// Scans of bodies in a polychromatic beam, and what a calibration would know of that beam.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/beam.h"
#include "kernels/recon/acquisition.h"

namespace isocenter {

/// A body of HU at the beam's effective energy; later ones replace earlier ones. kMetalHu is the
/// scan's metal.
struct HuBody {
  phantom::Body body;
  double hu = 0;
};
inline constexpr double kMetalHu = 30000;

class PolychromaticScan {
 public:
  /// A tube's beam on caesium iodide, without noise. `metal`: a name of physics::FindMaterial.
  PolychromaticScan(const Detector& detector, int views, double kv, const std::string& metal);

  double mu_water_per_mm() const { return mu_water_; }
  /// Water polynomial and bone table as perfect measurements would give them.
  std::shared_ptr<const ops::Calibration> calibration() const { return calibration_; }
  /// From now on its bone table is one that was measured: fitted to steps of bone behind water in
  /// this beam.
  void MeasureBone();
  recon::Acquisition acquisition() const;
  /// Counts of all views, [view][v][u].
  std::vector<uint16_t> Counts(const std::vector<HuBody>& bodies) const;

 private:
  void FitWater(ops::Calibration& known) const;
  void FillBoneTable(ops::Calibration& known) const;
  double LineIntegral(double water_mm, double bone_mm) const;

  const Detector detector_;
  const int views_;
  std::unique_ptr<physics::Beam> beam_;
  double kev_ = 0, mu_water_ = 0, mu_bone_ = 0, metal_relative_ = 0;
  std::shared_ptr<const ops::Calibration> calibration_;
};

}  // namespace isocenter
