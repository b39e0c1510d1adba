// What the shaders of fan-beam back-projection are made of.
#pragma once

#include <string>

namespace isocenter::gles {

/// How a pixel is worked on: alone, over all views; or with the three that quarter turns take it
/// to, over a quarter of the views, whose samples come four at a time
/// (kernels/geometry/quarter_turns.h).
enum class FanPixels { kAlone, kByQuarterTurns };

inline constexpr int kFanTerms = 9;
/// Zeros on both sides of a packed row.
inline constexpr int kFanMargin = 2;

/// Bindings of buffers.
inline constexpr int kImageBinding = 0, kRowsBinding = 1, kViewsBinding = 2, kPackedBinding = 3;
/// Units of textures.
inline constexpr int kRowsUnit = 0, kViewsUnit = 1, kTargetUnit = 2;

/// Compute: component `component` of `components` of packed[view][channel + margins] from one slice
/// of rows[view][slice][channel].
std::string PackShader();
/// Compute: adds the views to an image; rows are interpolated in float32.
std::string ComputeShader(FanPixels pixels);
/// Fragments: the sums of the views, one pixel's or four, with rows from the texture unit.
std::string FragmentShader(FanPixels pixels);
/// Compute: adds what fragments drew to an image.
std::string AddDrawnShader(FanPixels pixels);

}  // namespace isocenter::gles
