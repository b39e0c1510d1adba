// Executes the plan of a second pass on its devices, in steps short enough that other work can go
// between.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// As Refinement::Create. It begins with the first volume, which Start must be given, and has no
/// iterations to report. It may be read after the last step only: FAILED_PRECONDITION before.
///
/// Stripes are taken off the line integrals first (ops::RemoveStripes), and a volume is made of
/// them, with which the others begin; then scatter that is computed from a coarse volume
/// (ScatterPass), of which the frames had lost none before. Metal: its trace in the line integrals
/// is interpolated, first linearly, then by the prior of the volume that this gives
/// (ops::InterpolateTrace, MakePrior), then by that of a smooth volume, in which is what light
/// through metal says of its shadow (MetalLight). Then bone of that volume (ops::CorrectBone). Then
/// the cone-beam artefact of its bone and air is taken off it (ConeBeamPass), which needs no
/// frames. Last, where the first volume has metal it is put back. A volume without metal or bone
/// stays as it is, bit for bit, but for the cone-beam artefact. Motion is looked for alone
/// (MotionPass): where the object moved, the line integrals are reconstructed as it lay on average;
/// else the first volume stays, bit for bit. So is where the detector was (CalibrationPass).
absl::StatusOr<std::unique_ptr<Refinement>> NewSecondPass(const SecondPassPlan& plan,
                                                          const ops::Registry& registry,
                                                          std::span<ops::Device* const> devices);

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x], by way
/// of the first volume. `doses`: empty, or one for each frame. `findings`, if it is given:
/// Refinement::findings.
absl::Status ReconstructTwice(const SecondPassPlan& plan, const ops::Registry& registry,
                              std::span<ops::Device* const> devices, const ops::RawFrames& frames,
                              HostView3<float> volume, std::span<const float> doses = {},
                              std::vector<std::string>* findings = nullptr);

}  // namespace isocenter::recon
