// The file of `isocenter simulate --physics`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/blur.h"
#include "kernels/physics/bow_tie.h"
#include "kernels/physics/detector_model.h"
#include "kernels/physics/scatter/settings.h"
#include "kernels/physics/spectrum.h"
#include "kernels/physics/tungsten.h"

namespace isocenter::cli {

struct ScatterChoice {
  physics::ScatterSettings settings;
  std::string file;  // where it is kept; empty: nowhere
};

struct PhysicsSetup {
  physics::Spectrum spectrum;  // behind the bow-tie's middle
  double csi_mm = 0;
  physics::Beam beam;  // of both; its materials are the TissueMaterials, and the bow-tie's
  double effective_kev = 0;
  physics::DetectorModel detector;
  bool tells_dose = false;            // each frame
  std::optional<physics::Tube> heel;  // of this tube
  physics::Blur blur;
  std::optional<ScatterChoice> scatter;
  std::optional<physics::BowTie> bow_tie;
};

/// Reads SimulatedPhysics (proto/isocenter/v1/physics.proto) in text format, up to 64 KiB, and the
/// table that it names; `seed` is that of the detector. Errors: NOT_FOUND, INVALID_ARGUMENT with
/// the file and the line and column of a syntax error, or the field, its value and what is legal.
absl::StatusOr<PhysicsSetup> ReadPhysicsFile(const std::string& path, uint64_t seed);

}  // namespace isocenter::cli
