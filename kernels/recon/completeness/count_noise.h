// Whether the noise of raw counts is that of photons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// The variance of counts grows as their mean does, since both are photons (the photon transfer of
/// Janesick, Photon Transfer, SPIE 2007): that of counts c which are a·n of n photons is a·c.
/// - A square root makes it the same for all counts, the logarithm of a display's table larger for
///   few than for many, and where light and dark are exchanged, it falls.
/// - A pedestal adds to the mean and not to the variance, as an offset that was not taken off, or
///   veiling glare from far away, does: the line through variances ends above 0.
/// Read-out noise adds to the variance, scatter to both, and gains are no noise here: it is of the
/// difference of two frames that follow each other, and of fourth differences of that along the
/// row, in which objects that move on are hardly left. Each is sorted by its mean, and of each
/// level the half counts of which the sum of the two frames is the smoothest: edges are left out,
/// and the noise of a sum knows nothing of that of the difference. Of those it is the middle one.
///
/// Without noise nothing can be said, nor where the noise is a few counts only, nor of pixels that
/// are larger than kMostPitchMm: thin bones change from one to the next. Says nothing of
/// counts with a calibration, which knows offset and response, or of line integrals. Not
/// thread-safe.
class CountNoise {
 public:
  static constexpr int kMostPairs = 64;           // of frames that are looked at
  static constexpr double kMostPitchMm = 2;       // of pixels along a row
  static constexpr double kLeastExponent = 0.4;   // photons have 1, a square root 0
  static constexpr double kMostPedestal = 0.007;  // of i0_counts

  /// `acquisition`: valid, and must outlive this.
  explicit CountNoise(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once. Views that come in order are compared.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// Noise of counts of about one mean.
  struct Window {
    float difference = 0;  // absolute
    float roughness = 0;   // of the sum of the two frames
  };
  struct Level {
    std::vector<Window> windows;  // until there are enough
    size_t count = 0;             // of all windows that were taken
    float middle = 0;             // of their differences, once there are enough
    double means = 0;
    int neighbours = 0, changes = 0;  // of differences side by side; of them, with another sign
  };
  struct Point {
    double mean = 0, variance = 0;
    double weight = 0;  // how many differences
  };
  static constexpr int kLevelsPerOctave = 8;

  /// Of the differences of the smoother half. In another order afterwards.
  static float MiddleDifference(std::vector<Window>& windows);
  void AddRow(std::span<const std::byte> before, std::span<const std::byte> now);
  /// Levels whose differences are noise.
  std::vector<Point> Points() const;
  std::optional<std::string> ExponentText(const std::vector<Point>& points) const;
  std::optional<std::string> PedestalText(const std::vector<Point>& points) const;

  const Acquisition& acquisition_;
  int step_ = 0;  // between pairs; 0: nothing is looked at
  int last_view_ = -2;
  std::vector<std::vector<std::byte>> last_;  // its rows
  std::array<Level, 16 * kLevelsPerOctave> levels_;
};

}  // namespace isocenter::recon
