// What an iterative reconstruction is to do, as a protocol states it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/registry.h"

namespace isocenter::recon {

enum class Algorithm {
  kSirt,     // Gilbert 1972; Gregor & Benson, IEEE TMI 27 (2008) 918
  kSart,     // Andersen & Kak, Ultrasonic Imaging 6 (1984) 81: one view at a time
  kOsSart,   // Wang & Jiang, J. X-Ray Sci. Tech. 12 (2004) 169
  kCgls,     // Hestenes & Stiefel 1952, on the normal equations
  kLsqr,     // Paige & Saunders, ACM TOMS 8 (1982) 43
  kOsSqs,    // Erdogan & Fessler, PMB 44 (1999) 2835, with the momentum of Kim, Ramani, Fessler,
             // IEEE TMI 34 (2015) 167; penalised weighted least squares
  kAsdPocs,  // Sidky & Pan, PMB 53 (2008) 4777
  kFistaTv,  // Beck & Teboulle, IEEE TIP 18 (2009) 2419
};

/// "sirt", "sart", "os_sart", "cgls", "lsqr", "os_sqs", "asd_pocs", "fista_tv".
absl::string_view AlgorithmName(Algorithm algorithm);
/// Errors: INVALID_ARGUMENT, listing the names.
absl::StatusOr<Algorithm> AlgorithmNamed(absl::string_view name);

struct IterativeSettings {
  Algorithm algorithm = Algorithm::kOsSart;
  ops::ProjectorModel projector = ops::ProjectorModel::kJoseph;
  /// False: the voxel-driven back-projection of FDK stands for the adjoint, which is faster and
  /// only nearly it. Only for SIRT, SART, OS-SART and ASD-POCS.
  bool matched = true;
  ops::Precision precision = ops::Precision::kExact;
  int iterations = 10;  // passes over all views; 1..1000
  /// Ordered subsets, interleaved views in bit-reversed order; 0: what suits the algorithm and the
  /// number of views. SIRT, CGLS, LSQR and FISTA have one, SART one per view.
  int subsets = 0;
  /// Step length of SIRT, SART, OS-SART and ASD-POCS, (0, 2) or, with momentum m, (0, (2 + 2m) /
  /// (1 + 2m)), times `relaxation_decay`, (0, 1], after each pass.
  double relaxation = 1;
  double relaxation_decay = 1;
  /// [0, 0.9]; how far each step of SIRT, SART and OS-SART looks ahead along the last one. A pass
  /// then does what 1 / (1 - momentum) passes do without.
  double momentum = 0;
  bool non_negative = true;  // cgls and lsqr do not ask for it
  bool warm_start = true;    // from FDK; else from zero
  /// Of os_sart, 0..64: how often something is done with the frames that are there while the others
  /// still come (EarlyFrames): their sums of rows and columns are made, and, from zero, there is a
  /// pass over them. It is done in any case, if need be after the last frame; `iterations` passes
  /// over all frames follow.
  int early_passes = 0;
  /// Weights exp(-p) of the rays, which is what their counts are worth (os_sqs, cgls, lsqr).
  bool statistical_weights = false;
  /// Strength of the prior relative to the data (os_sqs: Huber; fista_tv and asd_pocs: total
  /// variation); 0: none. Dimensionless: what it means does not change with the number of voxels
  /// or views; what is best depends on their noise, 0.1 to 1 for a head of 2e4 photons per pixel.
  double prior_strength = 0;
  double huber_delta_per_mm = 2e-4;  // 10 HU of water
  int tv_steps = 20;                 // of steepest descent, or of the proximal operator, per pass
  /// Ends when ‖b - Ax‖ / ‖b‖ falls below it; 0: never.
  double stop_residual = 0;
  /// What lies outside of the grid is kept in a grid of voxels this many times as coarse around
  /// it, so that it need not be explained by voxels inside; 0: nothing is there.
  int surroundings_factor = 0;
};

/// What is known after each pass over the views.
struct IterationReport {
  int iteration = 0;             // from 1
  double relative_residual = 0;  // ‖b - Ax‖ / ‖b‖ (weighted where the algorithm weighs); of the
                                 // iterates before each subset's update where there are subsets
  std::optional<double> objective;  // what the algorithm minimises, where it is defined
  double seconds = 0;               // since the first step
  /// False: it made the objective much worse, and what was there before it stands (os_sqs).
  bool taken = true;
};

/// Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::Status ValidateIterativeSettings(const IterativeSettings& settings);

}  // namespace isocenter::recon
