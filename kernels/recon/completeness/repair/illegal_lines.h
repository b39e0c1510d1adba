// Line integrals that no beam gives: found in frames, and computed from the pixels beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "kernels/geometry/detector.h"

namespace isocenter::recon {

/// Legal are finite line integrals of at most this, either way. ln(65535) is 11, and what a
/// detector of 32 bits could tell 22: whatever is beyond 100 is no attenuation, but a value that
/// marks a pixel, or damage.
inline constexpr float kMostLineIntegral = 100;

/// A frame of which more are illegal is not to be repaired.
inline constexpr double kMostIllegal = 0.1;

struct IllegalLines {
  int64_t illegal = 0;
  int64_t pixels = 0;  // of the frame
  int64_t first = 0;   // the first that is illegal, [v][u]

  bool found() const { return illegal > 0; }
  bool too_many() const {
    return static_cast<double>(illegal) > kMostIllegal * static_cast<double>(pixels);
  }
};

/// Looks at every pixel of a frame of float32, [v][u], little-endian, in pieces that need not end
/// between pixels. It runs at the speed of memory where all are legal.
IllegalLines FindIllegalLines(std::span<const std::span<const std::byte>> pieces);

/// How many there are and where the first, as a clause for people. `found`: at least one.
std::string IllegalLinesText(const IllegalLines& found, const Detector& detector);

/// The same of a frame that is repaired.
std::string RepairedLinesText(const IllegalLines& found, const Detector& detector);

/// A sentence for people of frames that are not used, `why`: of the first of them.
std::string UnusedFramesText(int first, int last, absl::string_view why);

/// Replaces illegal pixels of a frame, [v][u], by what is linear between the nearest legal ones of
/// the row, or of the column where those are closer together; the nearest, at the detector's edge.
/// Where row and column have none, from what was so replaced. A frame without any legal pixel gets
/// zeros. All others stay as they are, bit for bit.
void RepairLineIntegrals(const Detector& detector, std::span<float> frame);

}  // namespace isocenter::recon
