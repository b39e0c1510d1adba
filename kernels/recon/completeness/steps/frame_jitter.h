// Frames that lie to and fro along their rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// From frame to frame an object goes on evenly: each frame is about the middle of its two
/// neighbours. A read-out whose rows begin some columns early in one frame and late in the next
/// makes frames lie beside that middle, all rows by the same: what they differ by is the slope of
/// the rows, times that shift. What matrices say of it (an arm that vibrates, and is measured) is
/// taken off, and what neighbouring frames have in common of it, as the object does. Told where the
/// shifts explain, in the middle of all frames, more than kExplained of what differs, and scatter
/// by more than kMostPx. Not thread-safe.
class FrameJitter {
 public:
  static constexpr double kMostPx = 0.5;  // standard deviation
  static constexpr double kExplained = 0.4;

  /// `acquisition`: valid, and must outlive this.
  explicit FrameJitter(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once. Views that come in order are compared.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  struct Shift {
    int view = 0;
    double px = 0;         // beside the middle of the two neighbours
    double explained = 0;  // of what differs, squared
  };
  std::vector<float> LinesOf(std::span<const FrameRow> rows) const;
  /// Of the middle one of the last three.
  std::optional<Shift> ShiftOf(int view) const;

  const Acquisition& acquisition_;
  const int width_, pieces_;  // of a row
  int last_view_ = -2;
  std::vector<std::vector<float>> last_;  // up to three views: [row][piece]
  std::vector<Shift> shifts_;
};

}  // namespace isocenter::recon
