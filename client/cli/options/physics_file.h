// The file of `isocenter simulate --physics`.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/detector_model.h"

namespace isocenter::cli {

struct PhysicsSetup {
  physics::Beam beam;  // its materials are the TissueMaterials
  double effective_kev = 0;
  physics::DetectorModel detector;
};

/// Reads SimulatedPhysics (proto/isocenter/v1/physics.proto) in text format, up to 64 KiB, and the
/// table that it names; `seed` is that of the detector. Errors: NOT_FOUND, INVALID_ARGUMENT with
/// the file and the line and column of a syntax error, or the field, its value and what is legal.
absl::StatusOr<PhysicsSetup> ReadPhysicsFile(const std::string& path, uint64_t seed);

}  // namespace isocenter::cli
