#include "kernels/recon/motion/plane_poses.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/calibrate/consistency/pose_fit.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

constexpr double kPixelMm = 1.6;

}  // namespace

absl::StatusOr<BinnedLines> LinesForPlanes(const Acquisition& acquisition,
                                           const ops::RawFrames& frames,
                                           std::span<const float> doses,
                                           const ops::Registry& registry, ops::Device& device,
                                           const std::function<absl::Status()>& go_on) {
  return FinestLines(acquisition, BinsFor(acquisition, kPixelMm), frames, doses, registry, device,
                     go_on);
}

absl::StatusOr<PlanePoses> FitByPlanes(const Acquisition& acquisition, const BinnedLines& lines,
                                       std::span<const RigidPose> poses, ThreadPool& threads,
                                       const std::function<absl::Status(double done)>& progress) {
  const Acquisition binned = Binned(acquisition, lines.bins);
  const int views = static_cast<int>(poses.size());
  ISO_ASSIGN_OR_RETURN(calibrate::PoseFit fit,
                       calibrate::FitPoses(binned.trajectory, binned.detector, lines.view(), poses,
                                           CurvesOf(views, FineSpline(views)), threads, progress));
  return PlanePoses{.kept = std::move(fit.kept),
                    .poses = std::move(fit.poses),
                    .before = fit.before,
                    .after = fit.after};
}

int64_t PlanePosesHostBytes(const Acquisition& acquisition) {
  const Acquisition binned = Binned(acquisition, BinsFor(acquisition, kPixelMm));
  const int views = static_cast<int>(binned.trajectory.size());
  return FrameBytes(binned) * views + std::max(FinestLinesChunkBytes(acquisition),
                                               calibrate::PoseFitBytes(binned.detector, views));
}

}  // namespace isocenter::recon
