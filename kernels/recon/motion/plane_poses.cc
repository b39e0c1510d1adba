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
constexpr int kMostSpans = 32, kFramesOfASpan = 3;

}  // namespace

absl::StatusOr<PlanePoses> FitByPlanes(const Acquisition& acquisition,
                                       std::span<const RigidPose> poses,
                                       const ops::RawFrames& frames, std::span<const float> doses,
                                       const ops::Registry& registry, ops::Device& device,
                                       ThreadPool& threads,
                                       const std::function<absl::Status(double done)>& progress) {
  const auto go_on = [&](double done) { return progress ? progress(done) : absl::OkStatus(); };
  const PixelBins bins = BinsFor(acquisition, kPixelMm);
  ISO_ASSIGN_OR_RETURN(
      const BinnedLines lines,
      FinestLines(acquisition, bins, frames, doses, registry, device, [&] { return go_on(0); }));
  const Acquisition binned = Binned(acquisition, bins);
  const int views = static_cast<int>(poses.size());
  const FrameSpline spline(views, std::min(kMostSpans, views / kFramesOfASpan));
  ISO_ASSIGN_OR_RETURN(calibrate::PoseFit fit,
                       calibrate::FitPoses(binned.trajectory, binned.detector, lines.view(), poses,
                                           CurvesOf(views, spline), threads, go_on));
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
