// Whether frames of a scan are copies of others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// No two exposures have the same noise: a frame with the pixels of the frame before was not
/// acquired, but delivered twice, as by a frame grabber that stood still. Without noise frames may
/// well be alike (a cylinder about the axis, simulated): those are taken for copies only where the
/// scan's frames have noise, or differ otherwise. Not thread-safe.
class RepeatedFrames {
 public:
  /// `acquisition` must outlive this.
  explicit RepeatedFrames(const Acquisition& acquisition);

  /// Rows of a view, the same of each view; views in any order, each once. True where it and a
  /// neighbour are the same in all of them.
  bool Add(int view, std::span<const FrameRow> rows);

  /// Frames that are as the one before, so far, and the first of them.
  int copies() const { return copies_; }
  int first_copy() const { return first_copy_; }

  /// What is wrong, as a sentence for people, once there are copies.
  std::string Text() const;

 private:
  struct Seen {
    uint32_t checksum = 0;
    double level = 0;
  };
  bool SameAs(int view, int other) const;
  bool HasNoise(std::span<const FrameRow> rows) const;

  const Acquisition& acquisition_;
  std::vector<std::optional<Seen>> seen_;  // [view]
  double lowest_ = 0, highest_ = 0;        // levels
  bool any_ = false;
  int copies_ = 0, first_copy_ = 0;
};

}  // namespace isocenter::recon
