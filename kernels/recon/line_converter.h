// Frames as they come -> line integrals in host memory, without the weights of filtered
// back-projection: what iterations and second passes work on.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/frame_corrector.h"

namespace isocenter::recon {

/// Whether these are `count` frames of the acquisition, with as many measured matrices and doses or
/// none. Errors: INVALID_ARGUMENT (what is wrong, and what is legal).
absl::Status CheckFrames(const Acquisition& acquisition, int64_t count,
                         const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                         std::span<const float> doses);

/// INVALID_ARGUMENT unless there are none, or one for each of an acquisition's views.
absl::Status CheckDoseCount(int64_t views, std::span<const float> doses);
/// Those of some views; none of none.
std::span<const float> DosesOf(std::span<const float> doses, int first_view, int views);

/// Converts on one device, corrected as the acquisition's calibration says. Frames come in the
/// order of the trajectory. Not thread-safe.
class LineConverter {
 public:
  /// `rows`: those that are wanted. `chunk_views`: the most frames at once. `acquisition` and
  /// `session` must outlive the converter. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (a method).
  static absl::StatusOr<std::unique_ptr<LineConverter>> Create(const Acquisition& acquisition,
                                                               RowRange rows, int chunk_views,
                                                               const ops::Registry& registry,
                                                               ops::Session& session);
  /// Device memory that Create takes with its operations. Errors: NOT_FOUND (a method).
  static absl::StatusOr<int64_t> DeviceBytes(const Acquisition& acquisition, RowRange rows,
                                             int chunk_views, const ops::Registry& registry,
                                             const ops::Device& device);

  /// `lines`: frames x rows x columns. Frames and doses have passed CheckFrames.
  absl::Status Run(const ops::RawFrames& frames, std::span<const float> doses,
                   HostView3<float> lines);

 private:
  LineConverter(const Acquisition& acquisition, RowRange rows, ops::Session& session)
      : acquisition_(acquisition),
        rows_(rows),
        session_(session),
        column_weight_(acquisition.detector.columns, 1.f) {}

  const Acquisition& acquisition_;
  const RowRange rows_;
  ops::Session& session_;
  const std::vector<float> column_weight_;
  std::unique_ptr<FrameCorrector> corrector_;  // null: nothing to correct
  std::unique_ptr<ops::Preprocess> preprocess_;
  std::unique_ptr<ops::ProjectionStack> lines_;
};

}  // namespace isocenter::recon
