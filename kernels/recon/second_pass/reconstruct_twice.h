// The first volume of an acquisition whose frames are all there, then what corrects it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/refinement_basis.h"

namespace isocenter::recon {

using RefinementMaker = std::function<absl::StatusOr<std::unique_ptr<Refinement>>()>;

/// Frames [view][v][u] in host memory to HU [z][y][x]. `make` is called once the first volume, the
/// plan's warm start, is there, and makes a refinement of `plan` that has no reference. `doses`:
/// empty, or one for each frame. `findings`, if it is given: Refinement::findings.
absl::Status ReconstructTwice(const RefinementBasis& plan, const RefinementMaker& make,
                              const ops::Registry& registry, std::span<ops::Device* const> devices,
                              const ops::RawFrames& frames, HostView3<float> volume,
                              std::span<const float> doses = {},
                              std::vector<std::string>* findings = nullptr);

}  // namespace isocenter::recon
