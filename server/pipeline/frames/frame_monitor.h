// What is wrong with an acquisition while the arm still turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/vec3.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/completeness/cut_rows.h"
#include "kernels/recon/completeness/detector_levels.h"
#include "kernels/recon/completeness/in_frames.h"
#include "kernels/recon/completeness/repair/illegal_lines.h"
#include "kernels/recon/completeness/scan_watch.h"
#include "kernels/recon/completeness/silent_rows.h"
#include "kernels/recon/plan.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

/// Looks at a few rows of every frame, and at its measured matrix. What it finds is reported when
/// it begins, and again only after it has ended.
///
/// Saturated, dead: of more than 1 % of the pixels that are looked at (recon::DetectorLevels). Dead
/// are also frames whose bytes are in the other order (recon::OtherByteOrderText), of which nothing
/// else is told; and line integrals that no beam gives: of the first frame with some, and in how
/// many there were when all have come. Then, too, rows that never counted anything
/// (recon::SilentRows).
///
/// Dose dip: the mean logarithm of the intensities is that of a dose more than 30 % below the
/// median of the last eight frames within 6 degrees of the arc. The mean intensity, or the
/// brightest part, would not do: where a body fills the detector, both are what passes beside it,
/// and gone as soon as its outline reaches the edge. A body's mean attenuation changes less on so
/// short an arc: that of a trunk that lets seven times as much through from the front as from the
/// side by 20 % on the steepest 6 degrees. Frames that are further apart are not compared. A dose
/// that stays low is the new normal after eight frames.
///
/// Matrix jump: measured minus planned position of the source, or of the isocentre's image, differs
/// by more than 2 mm or 2 pixels between neighbouring frames. Without a measured matrix a frame is
/// where it was planned. Measured matrices that all differ from the planned ones do not jump: turn,
/// scale and focal length are compared when all frames have come (TrajectoryAlignment).
///
/// Cut object: the patient is wider than the detector (recon::CutRows), and the protocol does not
/// correct for it. Said once of a scan.
///
/// Repeated frames, air level, unknown doses, matrices misfit, unknown defects, rays beyond the
/// calibration: what files are told, too (recon::ScanWatch); the last three when all frames have
/// come.
///
/// Not thread-safe.
class FrameMonitor {
 public:
  /// What a scan shows as a whole.
  struct WholeScan {
    std::vector<jobs::JobWarning> warnings;
    std::vector<std::string> findings;  // what could not be checked, as sentences
  };

  /// `acquisition` must outlive this. `truncation`: what the protocol does about cut rows.
  FrameMonitor(const recon::Acquisition& acquisition, ops::Truncation truncation);

  /// A frame that came, in any order, each once. `pixels`: [v][u], little-endian, in pieces that
  /// need not end between pixels, together as long as a frame. `illegal`: what of them is to be
  /// repaired. `measured`: normalised. `dose`: what the frame tells; 0: nothing.
  std::vector<jobs::JobWarning> OnFrame(int index,
                                        std::span<const std::span<const std::byte>> pixels,
                                        const recon::IllegalLines& illegal,
                                        const std::optional<ProjectionMatrix>& measured,
                                        double dose);
  /// Why a frame that has too many illegal pixels cannot be used, as a sentence for people. It is
  /// not looked at otherwise.
  std::string WhyUnusable(int index, std::span<const std::span<const std::byte>> pixels,
                          const recon::IllegalLines& illegal);
  /// All frames have come that will.
  WholeScan OnEnd() const;

 private:
  /// True when a condition begins.
  class Onset {
   public:
    bool Update(bool now) {
      const bool begins = now && !active_;
      active_ = now;
      return begins;
    }

   private:
    bool active_ = false;
  };

  /// Where a matrix sees things.
  struct Pose {
    Vec3 source;          // mm
    double u = 0, v = 0;  // of the isocentre, pixels
  };

  struct Level {
    int frame = 0;
    double log_intensity = 0;
  };

  static Pose PoseOf(const ProjectionMatrix& matrix);
  void Sample(int index, std::span<const std::span<const std::byte>> pixels);
  void LookForSilentRows(int index, std::span<const std::span<const std::byte>> pixels);
  /// Mean over the sampled pixels that have a value.
  std::optional<double> LogIntensity() const;
  void CheckDetector(int index, const recon::DetectorLevels::Levels& frame, double dose,
                     std::vector<jobs::JobWarning>& warnings);
  void CheckScan(int index, double dose, std::vector<jobs::JobWarning>& warnings);
  void CheckWidth(int index, double dose, std::vector<jobs::JobWarning>& warnings);
  void CheckDose(int index, double log_intensity, std::vector<jobs::JobWarning>& warnings);
  void CheckMatrix(int index, const std::optional<ProjectionMatrix>& measured,
                   std::vector<jobs::JobWarning>& warnings);
  /// The median of what came last near a frame; nothing when there is none.
  std::optional<double> UsualLevel(int index) const;

  /// What measured matrices differ from the planned ones in that no frame shows: sentences.
  std::vector<std::string> MeasuredMisfits() const;

  const recon::Acquisition& acquisition_;
  Trajectory matrices_;                          // [view], as measured where they were
  std::vector<Pose> planned_;                    // [view]
  std::vector<std::optional<Pose>> deviations_;  // [view], measured minus planned; unset: not come
  std::vector<std::byte> sample_;                // rows, one after the other
  std::vector<recon::FrameRow> sampled_;         // the same
  std::vector<std::byte> watched_;               // rows that the watch wants beside them
  std::vector<recon::FrameRow> watched_rows_;    // the same
  std::deque<Level> levels_;                     // the last frames of normal dose
  double level_before_dip_ = 0;
  int frames_in_dip_ = 0;  // 0: there is none
  Onset saturated_, dead_, jump_;
  int frames_ = 0;  // that came
  recon::InFrames repaired_;
  const recon::DetectorLevels detector_levels_;
  recon::ScanWatch watch_;
  recon::SilentRows silent_rows_;
  std::optional<recon::CutRows> cut_rows_;  // unset: cut rows are corrected
};

/// Whether a plan's arc, between half a step before its first view and half a step after its last,
/// is shorter than 180 degrees plus the fan angle, so that the edge of the field of view is not
/// seen from all sides. (A little shorter is usual and reconstructed; MakePlan refuses less than
/// 180 degrees plus 90 % of the fan angle.)
std::optional<jobs::JobWarning> ShortArcWarning(const recon::ReconstructionPlan& plan);

}  // namespace isocenter::pipeline
