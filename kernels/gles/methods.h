// The operations of the graphics backend (contracts: kernels/ops/fan_beam.h, operations.h). Each
// keeps its session's context alive. Errors: INVALID_ARGUMENT (a session of another backend, a
// specification out of range), INTERNAL (a driver that refuses a shader).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/fan_beam.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/registry.h"
#include "kernels/ops/session.h"

namespace isocenter::gles {

/// Term by term in a compute shader, float32.
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilter(
    ops::Session& session, const ops::FanBeamFilterSpec& spec);
int64_t FanBeamFilterBytes(const ops::Device& device, const ops::Extents& extents,
                           const ops::FanBeamFilterSpec& spec);
/// One pass over the image whose fragments go over the views, as Mendl et al. (2013), algorithm 2;
/// values come from the texture unit.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectFragment(
    ops::Session& session);
/// The same as a compute shader, interpolated in float32.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectCompute(
    ops::Session& session);
/// Both with a quarter of the views for four pixels at once, where a quarter turn of the source is
/// one of the image (kernels/geometry/quarter_turns.h), else as they do.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectFragmentQuarter(
    ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectComputeQuarter(
    ops::Session& session);
/// One pass whose rows are rounded to float16 (fan_beam_scan.h: by which factor).
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectHalf(
    ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectHalfQuarter(
    ops::Session& session);
/// Rotated squares, as algorithm 1 there: each adds four views that a quarter turn of the source
/// takes to each other, or one where there is no full scan that four divides. Sums go through two
/// textures in turn, or through the blender, which also needs GL_EXT_float_blend (UNAVAILABLE).
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectSquares(
    ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectBlendedSquares(
    ops::Session& session);
/// What each of them takes in buffers.
int64_t FanBeamBackprojectBytes(const ops::Device& device, const ops::Extents& extents);
/// A compute shader.
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Session& session);

}  // namespace isocenter::gles
