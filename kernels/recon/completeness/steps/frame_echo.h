// Frames that hold some of the frame before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// The noise of two exposures has nothing in common. Where a console averages frames against noise
/// before it sends them, that of neighbours has: they differ by less than frames further apart. It
/// is looked for in air, where nothing else changes, in fourth differences along the rows, which
/// know nothing of doses. An object that moves would make frames differ by more the further they
/// are apart, and ever more so; an average by less and less more. Lag of a detector is a few per
/// cent of it. What averages does to the object is a smear along the turn. Nothing is said where
/// rows see no air, or without noise. Not thread-safe.
class FrameEcho {
 public:
  static constexpr double kMostCorrelation = 0.2;  // of the noise of neighbouring frames

  /// `acquisition`: valid, and must outlive this.
  explicit FrameEcho(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once. Views that come in order are compared.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  static constexpr size_t kFrames = 4;  // that are compared with the first of them

  struct Window {
    float bend = 0;  // fourth difference
    bool air = false;
  };
  std::vector<Window> WindowsOf(std::span<const FrameRow> rows) const;

  const Acquisition& acquisition_;
  const int step_;  // from run to run of frames that are compared
  int last_view_ = -2;
  std::vector<std::vector<Window>> run_;  // of its frames
  // Of frames that are 1, 2 and 3 apart, absolute.
  std::array<std::vector<float>, kFrames - 1> differences_;
};

}  // namespace isocenter::recon
