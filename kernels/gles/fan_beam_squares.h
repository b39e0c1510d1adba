// Rotated squares: algorithm 1 of Mendl et al. (2013).
#pragma once

#include "absl/status/status.h"
#include "kernels/gles/context.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {

/// Squares on top of each other, one for each of `count` views. Their uniforms, but for those
/// below, and the textures of rows and of views are set.
struct FanSquares {
  const Context& context;
  const Program& program;
  int nx, ny, count;
};

/// Draws them all into `target`, of kTargetUnit, in one call: the blender adds. Needs
/// GL_EXT_float_blend. Errors: INTERNAL (a driver that does not draw).
absl::Status BlendSquares(const FanSquares& squares, const Texture& target);

/// Draws one after the other, reading what the last one left in one texture and writing to the
/// other. The sum is in `target` at the end, `other` is of kOtherTargetUnit. Errors: INTERNAL.
absl::Status DrawSquaresInTurn(const FanSquares& squares, const Texture& target,
                               const Texture& other);

}  // namespace isocenter::gles
