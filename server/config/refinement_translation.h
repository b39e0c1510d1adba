// The refinement of a protocol, from the configuration to the numerics.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "isocenter/v1/protocols.pb.h"
#include "kernels/recon/any_refinement.h"

namespace isocenter::config {

/// What a protocol does after its FDK volume.
struct RefinementRecipe {
  recon::RefinementSettings settings;
  absl::Duration deadline = absl::InfiniteDuration();  // after acceptance of the refinement
};

/// Sets what is 0 to its default; a second pass has none.
void ApplyRefinementDefaults(v1::Refinement& refinement);

/// `refinement` has its defaults. Errors: INVALID_ARGUMENT naming the field, its value and what is
/// legal.
absl::StatusOr<RefinementRecipe> RefinementFromProto(const v1::Refinement& refinement,
                                                     ops::Precision precision);

}  // namespace isocenter::config
