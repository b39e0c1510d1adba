// What the shaders of fan-beam back-projection are made of.
#pragma once

#include <string>

namespace isocenter::gles {

/// How a pixel is worked on: alone, over all views; or with the three that quarter turns take it
/// to, over a quarter of the views, whose samples come four at a time
/// (kernels/geometry/quarter_turns.h).
enum class FanPixels { kAlone, kByQuarterTurns };

/// What sums up: a compute shader, one pass of fragments that go over the views, or squares that
/// are drawn over each other, added by two textures in turn or by the blender.
enum class FanForm { kCompute, kOnePass, kSquares, kBlendedSquares };

inline constexpr int kFanTerms = 9;
/// Zeros on both sides of a packed row.
inline constexpr int kFanMargin = 2;

/// Bindings of buffers.
inline constexpr int kImageBinding = 0, kRowsBinding = 1, kViewsBinding = 2, kPackedBinding = 3;
/// Units of textures.
inline constexpr int kRowsUnit = 0, kViewsUnit = 1, kTargetUnit = 2, kOtherTargetUnit = 3;

/// Compute: `factor` times component `component` of `components` of packed[view][channel + margins]
/// from one slice of rows[view][slice][channel]; with `half_rows` rounded to float16.
std::string PackShader();
/// Compute: adds the views to an image; rows are interpolated in float32.
std::string ComputeShader(FanPixels pixels);
/// Fragments: the sums of the views, one pixel's or four, with rows from the texture unit.
std::string FragmentShader(FanPixels pixels);
/// Rotated squares (Mendl et al. 2013, algorithm 1): vertices of instance i are those of the image
/// turned by view first_square + i; fragments add up its rays and those of three quarter turns, or
/// of `quarters` 1 it alone. `blended`: what was there is added by the blender, else by the shader.
std::string SquareVertexShader();
std::string SquareFragmentShader(bool blended);
/// Compute: adds `factor` times what fragments drew to an image.
std::string AddDrawnShader(FanPixels pixels);

}  // namespace isocenter::gles
