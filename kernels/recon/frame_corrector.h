// Frames as the detector delivers them -> line integrals, on one device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// The chain of corrections that an acquisition's calibration asks for, in the order of
/// docs/corrections.md. Frames come in the order of the trajectory. Not thread-safe.
class FrameCorrector {
 public:
  /// None where the acquisition has no calibration. `chunk_views`: the most frames at once.
  /// `session` must outlive the corrector. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (a method).
  static absl::StatusOr<std::unique_ptr<FrameCorrector>> Create(const Acquisition& acquisition,
                                                                int chunk_views,
                                                                const ops::Registry& registry,
                                                                ops::Session& session);
  /// Device memory that Create takes with its operations. Errors: NOT_FOUND (a method).
  static absl::StatusOr<int64_t> DeviceBytes(const Acquisition& acquisition, int chunk_views,
                                             const ops::Registry& registry,
                                             const ops::Device& device);

  /// The next frames, which are the caller's again on return. `doses` is empty or has one for each
  /// frame, as ops::FindDoses.
  absl::Status Run(StridedView3<const uint16_t> counts, std::span<const float> doses);
  /// What became of the last ones: whole frames of line integrals.
  const ops::ProjectionStack& line_integrals() const { return *frames_; }
  /// The next frame is the first one.
  absl::Status Restart();

 private:
  FrameCorrector() = default;

  std::unique_ptr<ops::ProjectionStack> frames_, doses_;
  std::unique_ptr<ops::NormalizeCounts> normalize_;
  // Null where there is nothing to correct.
  std::unique_ptr<ops::RecoverOverexposed> overexposed_;
  std::unique_ptr<ops::InterpolateDefects> defects_;
  std::unique_ptr<ops::CorrectLag> lag_;
  std::unique_ptr<ops::CorrectAirSweep> air_sweep_;
  std::vector<float> air_places_;  // of the trajectory's frames; empty without a sweep
  std::unique_ptr<ops::FindDoses> find_doses_;
  std::unique_ptr<ops::CorrectGlare> glare_;
  std::unique_ptr<ops::CorrectScatter> scatter_;
  std::unique_ptr<ops::Linearize> linearize_;
  int64_t next_frame_ = 0;
};

}  // namespace isocenter::recon
