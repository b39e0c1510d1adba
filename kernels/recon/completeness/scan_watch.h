// What is wrong with a scan's frames as a whole, told by few rows of each: for frames that come one
// after the other and for files alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/air_level.h"
#include "kernels/recon/completeness/beam_content.h"
#include "kernels/recon/completeness/count_noise.h"
#include "kernels/recon/completeness/dose_strips.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/opposite_rays.h"
#include "kernels/recon/completeness/order/column_order.h"
#include "kernels/recon/completeness/order/copied_columns.h"
#include "kernels/recon/completeness/order/row_length.h"
#include "kernels/recon/completeness/repeated_frames.h"
#include "kernels/recon/completeness/steps/dose_steps.h"
#include "kernels/recon/completeness/steps/frame_echo.h"
#include "kernels/recon/completeness/steps/frame_jitter.h"
#include "kernels/recon/completeness/steps/half_steps.h"
#include "kernels/recon/completeness/steps/still_pixels.h"
#include "kernels/recon/completeness/steps/still_views.h"
#include "kernels/recon/completeness/thick_rays.h"
#include "kernels/recon/completeness/unknown_defects.h"

namespace isocenter::recon {

enum class ScanFault {
  kRepeatedFrames,
  kAirLevel,
  kMatricesMisfit,
  kOffsetDrift,
  kDoseStrips,
  kUnknownDefects,
  kThickRays,
  kBeamContent,
  kColumnOrder,
  kCountNoise,
  kDoseSteps,
  kHalfSteps,
  kStillViews,
  kFrameEcho,
  kRowLength,
  kStillPixels,
  kCopiedColumns,
  kFrameJitter,
};

struct ScanFinding {
  ScanFault fault = ScanFault::kRepeatedFrames;
  std::optional<int> view;  // at which it was noticed
  std::string text;         // a sentence for people
};

/// Repeated frames are found when they begin to repeat, and again when they do after they had not,
/// and at the end how many there are, where some have not been told of; air that is off, and strips
/// that see none, once; all else when all frames have come. Where columns are not in order, or
/// light and dark are exchanged, that is why matrices do not fit, and the latter is not told. Not
/// thread-safe.
class ScanWatch {
 public:
  /// `acquisition`: valid, and must outlive this.
  explicit ScanWatch(const Acquisition& acquisition);

  /// How many rows of each frame are looked at, evenly over the detector.
  static int SampledRows(int detector_rows);
  /// The detector's row that is the sampled one `i`.
  static int SampledRow(int i, int detector_rows);
  /// Rows of a view that Add wants beside the sampled ones: [first, first + count).
  int first_row(int view) const { return rays_.first_row(view); }
  int rows(int view) const { return rays_.rows(view); }

  /// A view that came, in any order, each once. `sampled`: its sampled rows. `rows`: the others.
  /// `dose`: what the frame tells; 0: nothing.
  std::vector<ScanFinding> Add(int view, std::span<const FrameRow> sampled,
                               std::span<const FrameRow> rows, double dose);
  /// All views have come that will: what opposite rays say of them. `trajectory`: their matrices,
  /// as measured. Some milliseconds.
  OppositeRaysResult JudgeRays(const Trajectory& trajectory) const {
    return rays_.Judge(trajectory);
  }
  /// All that is told then. `rays`: of JudgeRays.
  std::vector<ScanFinding> End(const OppositeRaysResult& rays) const;
  /// How the frames repeat, over all that came; nothing where they do not.
  std::optional<std::string> RepeatedText() const;

 private:
  RepeatedFrames repeated_;
  AirLevel air_;
  BeamContent content_;
  ColumnOrder order_;
  CopiedColumns copies_;
  CountNoise noise_;
  DoseSteps doses_;
  HalfSteps halves_;
  StillViews still_;
  FrameEcho echo_;
  FrameJitter jitter_;
  RowLength row_length_;
  DoseStrips strips_;
  UnknownDefects defects_;
  StillPixels still_pixels_;
  ThickRays thick_;
  OppositeRays rays_;
  bool repeats_ = false;  // the last frame that came did
  int told_ = 0;          // repeated frames
};

}  // namespace isocenter::recon
