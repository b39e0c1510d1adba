// What `isocenter simulate` knows of its object, as volumes.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/physics_file.h"
#include "client/cli/options/simulate_flags.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::cli {

/// The files of --truth-materials, one for each of physics::TissueMaterials: beside truth.mha
/// truth-water.mha, truth-bone.mha and truth-titanium.mha.
std::vector<std::filesystem::path> MaterialTruthFiles(const std::filesystem::path& truth);

/// Writes --truth in HU and, where --truth-materials asks for them and there are `physics`, the
/// volume of each material at its own density in one volume. Errors: those of AutoGrid and
/// VolumeWriter, CANCELLED.
absl::Status WriteTruth(const SimulateOptions& options, const phantom::Phantom& object,
                        const PhysicsSetup* physics, const Detector& detector,
                        const Trajectory& trajectory, ThreadPool& pool, const Interrupt& interrupt);

}  // namespace isocenter::cli
