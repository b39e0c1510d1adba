// Which shadow is of which ball, and about where the camera stands, without a first guess.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/geometry/pinhole.h"
#include "kernels/calibrate/geometry/shadows.h"

namespace isocenter::calibrate {

/// Shadows that agree with one camera; fewer are chance.
inline constexpr int kLeastAgreeing = 12;
/// Of the shadows that were found, or of the balls where they are fewer.
inline constexpr double kLeastAgreeingShare = 0.4;
/// Another view of the phantom may agree with at most this share of them.
inline constexpr double kMostOtherShare = 0.8;

struct FoundPose {
  Pinhole camera;
  int agreeing = 0;
  int unexplained = 0;  // shadows that are no ball's of the table
};

/// Cameras that look at the phantom across its z axis, in steps all around it, from three
/// distances, with the detector turned by any quarter and mirrored or not: those under which most
/// balls have a shadow of their size are fitted to their shadows, with ever smaller gates, and the
/// best one is taken. Sizes are two classes, where the table's differ by a quarter.
class PoseSearch {
 public:
  PoseSearch(BeadTable table, const Detector& detector);

  /// Errors: FAILED_PRECONDITION with the number of shadows that agree and what is legal; also
  /// where two views of the phantom explain them.
  absl::StatusOr<FoundPose> Find(std::span<const RoundShadow> shadows) const;

  /// Looks only for cameras that are turned about the phantom's z axis from `near`, which sees it:
  /// for other frames of the same sweep.
  absl::StatusOr<FoundPose> FindTurned(std::span<const RoundShadow> shadows,
                                       const Pinhole& near) const;

 private:
  struct Sighting;  // a shadow with its class
  struct Candidate {
    Pinhole camera;
    int hits = 0;
  };
  class HitMap;

  std::vector<Sighting> Classify(std::span<const RoundShadow> shadows) const;
  Candidate Best(const Pinhole& camera, const HitMap& map) const;
  static std::vector<Candidate> Peaks(const std::vector<Candidate>& ring, size_t length,
                                      size_t most);
  absl::StatusOr<FoundPose> Refine(const std::vector<Candidate>& candidates,
                                   const std::vector<Sighting>& shadows) const;
  int Agreeing(const std::vector<Sighting>& shadows, double gate_px, const Pinhole& camera,
               std::vector<BeadShadow>& matches) const;

  BeadTable table_;
  Detector detector_;
  std::vector<bool> large_;  // of each ball
  bool two_sizes_ = false;
  double size_ratio_ = 0;  // logarithm, of the classes' mean sizes; 0: one class
};

}  // namespace isocenter::calibrate
