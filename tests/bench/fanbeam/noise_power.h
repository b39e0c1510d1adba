// Noise in homogeneous regions of an image, as Mendl et al. (4.4.2) look at it.
#pragma once

#include <span>
#include <vector>

namespace isocenter::bench {

inline constexpr int kRegionPixels = 32;  // per axis
inline constexpr int kRegions = 9;        // 1 to 4 in rods, 5 to 7 between them, 8 and 9 in air
inline constexpr int kRegionValues = kRegionPixels * kRegionPixels;

/// The middle of each region of the rod phantom's image, mm.
struct RegionPlace {
  double x, y;
};
inline constexpr RegionPlace kRegionPlaces[kRegions] = {
    {-45, 45}, {45, 45}, {45, -45}, {-45, -45}, {0, 65}, {0, 0}, {0, -65}, {-150, 0}, {150, 0}};

/// The pixels of a region of a square image of `size` pixels per axis, row by row.
std::vector<double> RegionOf(std::span<const float> image, int size, int region);

/// ‖Δf‖² / (NxNy), Δf = f - ⟨f⟩.
double RegionVariance(std::span<const double> pixels);

/// NPS(k, l) = |F₂ Δf|² / (NxNy), l slowest; its sum is ‖Δf‖².
std::vector<double> NoisePower(std::span<const double> pixels);

/// The mean of NPS over rings of the width 1/32 per pixel, from frequency 0 on; half of them reach
/// beyond the axes' Nyquist frequency and are left out.
std::vector<double> RadialNoisePower(std::span<const double> power);

/// The frequency, in 1/32 per pixel, above which the radial NPS stays below a tenth of its largest
/// value, between rings by linear interpolation; the last ring's where it never does.
double HighestFrequency(std::span<const double> radial);

}  // namespace isocenter::bench
