// How float32 pixels are kept as float16.
#pragma once

namespace isocenter::cuda {

/// Stored times this. Filtered projections of a patient are about 1e-5 to 1e-2 per mm, the least of
/// which float16 would hold with few digits; 1023 is now the largest magnitude that it holds.
inline constexpr float kHalfScale = 64;

}  // namespace isocenter::cuda
