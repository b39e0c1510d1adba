// Whether frames of a scan are copies of others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// No two exposures have the same noise: a frame with the pixels of the frame before was not
/// acquired, but delivered twice, as by a frame grabber that stood still, and one with those of any
/// other frame by a buffer that went round, or by half of a sweep that was sent again. Without
/// noise frames may well be alike: of an object that is the same all around the axis that the arm
/// turns about (a cylinder there, simulated). It is the same left and right of that axis, too. So
/// where all frames are alike, they are taken for copies only if they have noise, or are not their
/// own mirror image; those of frames further away only if they have noise: other objects are the
/// same from opposite sides, or turn by turn. Not thread-safe.
class RepeatedFrames {
 public:
  /// `acquisition` must outlive this.
  explicit RepeatedFrames(const Acquisition& acquisition);

  /// Rows of a view, the same of each view; views in any order, each once. True where it and a
  /// neighbour, or one that came before it, are the same in all of them.
  bool Add(int view, std::span<const FrameRow> rows);

  /// Frames that are as another, so far, and the first of them.
  int copies() const;
  int first_copy() const;

  /// Of the view that Add has found to be the same as another just now, and of all copies, once
  /// there are some: what is wrong, as a sentence for people.
  std::string TextOf(int view) const;
  std::string Text() const;

 private:
  struct Seen {
    uint32_t checksum = 0;
    double level = 0;
  };
  bool SameAs(int view, int other) const;
  /// One that came before, and is no neighbour, with the pixels of this one; -1: none.
  int FarOriginal(int view) const;
  bool HasNoise(std::span<const FrameRow> rows) const;
  /// Whether the rows are the same on both sides of the isocentre's image, as far as the detector
  /// shows both.
  bool IsMirrored(int view, std::span<const FrameRow> rows) const;

  const Acquisition& acquisition_;
  std::vector<std::optional<Seen>> seen_;         // [view]
  std::vector<bool> is_copy_;                     // [view]
  std::unordered_map<uint32_t, int> first_with_;  // checksum: view
  double lowest_ = 0, highest_ = 0;               // levels
  bool any_ = false;
};

}  // namespace isocenter::recon
