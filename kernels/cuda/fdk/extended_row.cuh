// Rows as the ramp filters take them: continued beyond the detector, or cut.
#pragma once

namespace isocenter::cuda {

/// Pixel `u` of a row that is extended by `extension` pixels on both sides (contract:
/// ops::RampFilterSpec), zero beyond. Not extended: zero beyond the row.
template <bool kExtended>
__device__ inline float ExtendedPixel(const float* row, int columns, int extension, int u) {
  if (u >= 0 && u < columns) return row[u];
  if (!kExtended || u < -extension || u >= columns + extension) return 0;
  const int k = u < 0 ? -u : u - (columns - 1);
  const float edge = u < 0 ? row[0] : row[columns - 1];
  const float mirrored = fmaxf(0.f, 2 * edge - row[u < 0 ? k : columns - 1 - k]);
  return mirrored * 0.5f * (1 + cospif(static_cast<float>(k) / (extension + 1)));
}

}  // namespace isocenter::cuda
