#include "kernels/recon/motion/find_motion.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/focus.h"
#include "kernels/recon/motion/in_plane.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/motion/minimize.h"
#include "kernels/recon/motion/plane_poses.h"
#include "kernels/recon/motion/posed_focus.h"
#include "kernels/recon/motion/similarity.h"
#include "kernels/recon/motion/way.h"

namespace isocenter::recon {
namespace {

constexpr int kPose = 6;
// What the first step of a search moves all parameters by together, in mm.
constexpr double kFirstStepMm = 1, kLaterStepMm = 0.2;
constexpr double kLeastFall = 2e-5;  // of the entropy, in five iterations
// Of the entropy, for each mm of the parameters' way: longer ones must make the volume sharper.
constexpr double kWayWeight = 0.003;
// A volume that views have moved out of is sharp, too. Parameters beyond so many mm cost as much as
// any sharpness could gain; the way there is flat, so that smaller ones cost nothing.
constexpr double kFarthestMm = 15;
constexpr int kWall = 8;  // the power of it

// What follows where there is a motion, and the share of the time until then, and of each turn's
// until planes are looked at.
constexpr int kTurns = 2;
constexpr double kSharpeningShare = 0.7, kPlanesShare = 0.3;

/// One search: the curve as it is known, refined from level to level.
class Search {
 public:
  Search(const Acquisition& acquisition, const MotionSearch& search, const ops::Registry& registry,
         ops::Device& device, const MotionProgress& progress)
      : acquisition_(acquisition),
        search_(search),
        registry_(registry),
        device_(device),
        progress_(progress),
        threads_(device.limits().threads),
        spans_(search.levels.front().spans),
        controls_(size_t(spans_ + 3) * kPose, 0.0) {
    for (const MotionLevel& level : search.levels) all_work_ += Work(level);
  }

  /// `finest` is of `frames`.
  absl::StatusOr<FoundMotion> Run(const BinnedLines& finest, const ops::RawFrames& frames,
                                  std::span<const float> doses) {
    FoundMotion found;
    for (const MotionLevel& level : search_.levels) {
      ISO_RETURN_IF_ERROR(RunLevel(level, finest, found));
    }
    found.poses = AboutTheirMean(Poses());
    found.moved = found.entropy_before - found.entropy_after >= kLeastEntropyGain;
    if (found.moved) {
      ISO_RETURN_IF_ERROR(Refine(finest, frames, doses, found));
    } else {
      std::fill(found.poses.begin(), found.poses.end(), RigidPose());
    }
    return found;
  }

 private:
  int views() const { return static_cast<int>(acquisition_.trajectory.size()); }

  static double Work(const MotionLevel& level) { return std::pow(level.voxels, 3); }

  std::vector<RigidPose> Poses() const {
    std::vector<double> of_frames(size_t(views()) * kPose);
    FrameSpline(views(), spans_).Evaluate(controls_, kPose, of_frames);
    std::vector<RigidPose> poses;
    for (int view = 0; view < views(); ++view) {
      poses.push_back(PoseFrom(std::span(of_frames).subspan(size_t(view) * kPose, kPose)));
    }
    return poses;
  }

  /// Rays are weighted as an object with these poses saw them.
  absl::StatusOr<std::unique_ptr<PosedFocus>> Make(const MotionLevel& level,
                                                   const BinnedLines& finest,
                                                   std::span<const RigidPose> as_seen) {
    ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                         AutoGrid(acquisition_.trajectory, acquisition_.detector, level.voxels));
    return PosedFocus::Create(acquisition_, finest, grid, search_.fdk, as_seen, registry_, device_,
                              threads_);
  }

  absl::Status RunLevel(const MotionLevel& level, const BinnedLines& finest, FoundMotion& found) {
    while (spans_ < level.spans) {
      controls_ = WithTwiceTheSpans(controls_, kPose, spans_);
      spans_ *= 2;
    }
    ISO_ASSIGN_OR_RETURN(const auto focus, Make(level, finest, {}));
    return Sharpen(level, *focus, found);
  }

  absl::Status Tell(double done) const {
    return progress_ == nullptr ? absl::OkStatus() : progress_(done);
  }

  // Of the finest volume, with rays weighted as an object with these poses saw them, on the scale
  // that it has with all poses at rest.
  absl::StatusOr<double> FinestEntropy(const BinnedLines& finest,
                                       const std::vector<RigidPose>& poses) {
    ISO_ASSIGN_OR_RETURN(const auto focus, Make(search_.levels.back(), finest, poses));
    focus->SetMean(mean_at_rest_);
    std::vector<double> of_frames;
    for (const RigidPose& pose : poses) {
      const std::vector<double> six = ParametersOf(pose);
      of_frames.insert(of_frames.end(), six.begin(), six.end());
    }
    std::vector<double> unused(of_frames.size());
    return focus->Entropy(of_frames, unused);
  }

  // Poses that planes agree about better and that make the orbit's plane sharper, where the volume
  // still tells that there is a motion.
  absl::Status Refine(const BinnedLines& finest, const ops::RawFrames& frames,
                      std::span<const float> doses, FoundMotion& found) {
    double begun = 0;  // of the turns
    const auto tell = [&](double done) {
      return Tell(kSharpeningShare + (1 - kSharpeningShare) * (begun + done / kTurns));
    };
    ISO_ASSIGN_OR_RETURN(
        const BinnedLines lines,
        LinesForPlanes(acquisition_, frames, doses, registry_, device_, [&] { return tell(0); }));
    std::vector<RigidPose> poses = found.poses;
    double planes_after = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      begun = double(turn) / kTurns;
      ISO_ASSIGN_OR_RETURN(PlanePoses planes,
                           FitByPlanes(acquisition_, lines, poses, threads_,
                                       [&](double done) { return tell(kPlanesShare * done); }));
      if (turn == 0) {
        found.planes_before = found.planes_after = planes.before;
        found.planes_not_used = std::move(planes.kept);
        if (!found.planes_not_used.empty()) return absl::OkStatus();
      }
      planes_after = planes.after;
      ISO_ASSIGN_OR_RETURN(
          InPlanePoses sharpened,
          SharpenInPlane(
              acquisition_, finest, planes.poses, search_.levels.back().voxels, search_.iterations,
              search_.fdk, registry_, device_, threads_,
              [&](double done) { return tell(kPlanesShare + (1 - kPlanesShare) * done); }));
      poses = AboutTheirMean(std::move(sharpened.poses));
      found.evaluations += sharpened.evaluations;
    }
    ISO_ASSIGN_OR_RETURN(const double entropy, FinestEntropy(finest, poses));
    if (found.entropy_before - entropy < kLeastEntropyGain) {
      found.planes_not_used = absl::StrFormat(
          "with the poses that they tell the entropy is %.3f, legal is %.2f less than %.3f",
          entropy, kLeastEntropyGain, found.entropy_before);
      return absl::OkStatus();
    }
    found.poses = std::move(poses);
    found.entropy_after = entropy;
    found.planes_after = planes_after;
    return absl::OkStatus();
  }

  // The mean over the frames of Σ (parameter / farthest)^8, and its derivatives on top of those
  // that are there.
  double AddWall(std::span<const double> of_frames, std::span<double> by_frame) const {
    double wall = 0;
    for (size_t i = 0; i < of_frames.size(); ++i) {
      const double share = of_frames[i] / kFarthestMm;
      const double slope = std::pow(share, kWall - 1) / views();
      wall += share * slope;
      by_frame[i] += kWall * slope / kFarthestMm;
    }
    return wall;
  }

  absl::Status Sharpen(const MotionLevel& level, PosedFocus& focus, FoundMotion& found) {
    const FrameSpline spline(views(), spans_);
    ISO_ASSIGN_OR_RETURN(const SimilarityModes modes,
                         SimilarityModes::Create(acquisition_.trajectory, spline));
    std::vector<double> of_frames(size_t(views()) * kPose), by_frame(of_frames.size());
    std::vector<double> told(controls_.size());
    double entropy = 0;
    int evaluations = 0;
    const Function cost = [&](std::span<const double> controls,
                              std::span<double> gradient) -> absl::StatusOr<double> {
      told.assign(controls.begin(), controls.end());
      modes.Remove(told);
      spline.Evaluate(told, kPose, of_frames);
      ISO_ASSIGN_OR_RETURN(entropy, focus.Entropy(of_frames, by_frame));
      const double beside =
          AddWall(of_frames, by_frame) + AddWay(of_frames, kPose, kWayWeight, by_frame);
      spline.Gather(by_frame, kPose, gradient);
      modes.Remove(gradient);
      const double share = std::min(1.0, double(++evaluations) / search_.iterations);
      ISO_RETURN_IF_ERROR(Tell(kSharpeningShare * (done_work_ + share * Work(level)) / all_work_));
      return entropy + beside;
    };
    const std::vector<double> at_rest(controls_.size(), 0.0);
    std::vector<double> unused(controls_.size());
    ISO_RETURN_IF_ERROR(cost(at_rest, unused).status());
    found.entropy_before = entropy;
    mean_at_rest_ = focus.mean();
    const bool first = done_work_ == 0;
    ISO_ASSIGN_OR_RETURN(const Minimum minimum,
                         Minimize(cost, first ? kFirstStepMm : kLaterStepMm, search_.iterations,
                                  kLeastFall, controls_));
    modes.Remove(controls_);
    ISO_RETURN_IF_ERROR(cost(controls_, unused).status());
    found.entropy_after = entropy;
    found.evaluations += minimum.evaluations;
    done_work_ += Work(level);
    return absl::OkStatus();
  }

  const Acquisition& acquisition_;
  const MotionSearch& search_;
  const ops::Registry& registry_;
  ops::Device& device_;
  const MotionProgress& progress_;
  ThreadPool threads_;
  int spans_;
  std::vector<double> controls_;
  double done_work_ = 0, all_work_ = 0;
  double mean_at_rest_ = 0;  // of the last level's volume
};

int MostVoxels(const MotionSearch& search) {
  int most = 0;
  for (const MotionLevel& level : search.levels) most = std::max(most, level.voxels);
  return most;
}

}  // namespace

absl::Status CheckMotionViews(int64_t views) {
  if (views >= kLeastMotionViews) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a motion cannot be told from ", views, " frames; legal is ", kLeastMotionViews, " or more"));
}

MotionSearch DefaultMotionSearch(int views, const FdkSettings& fdk) {
  MotionSearch search{.levels = {{4, 64}, {8, 64}, {16, 96}}, .fdk = FocusSettings(fdk)};
  // A span has six frames at least.
  std::erase_if(search.levels, [&](const MotionLevel& level) {
    return level.spans > 4 && level.spans * 6 > views;
  });
  return search;
}

absl::StatusOr<MotionMemory> MotionMemoryOf(const Acquisition& acquisition,
                                            const MotionSearch& search,
                                            const ops::Registry& registry,
                                            const ops::Device& device) {
  ISO_RETURN_IF_ERROR(CheckMotionViews(static_cast<int64_t>(acquisition.trajectory.size())));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, MostVoxels(search)));
  const Acquisition binned = Binned(acquisition, BinsFor(acquisition, grid.spacing.x));
  const ops::Device* const devices[] = {&device};
  ISO_ASSIGN_OR_RETURN(
      const ReconstructionPlan plan,
      OutlinePlan(binned, grid, search.fdk, registry, devices, Arrival::kComplete));
  ISO_ASSIGN_OR_RETURN(const int64_t converting,
                       FinestLinesDeviceBytes(acquisition, registry, device));
  const int64_t lines = FrameBytes(binned) * static_cast<int64_t>(binned.trajectory.size());
  const int64_t chunk = FinestLinesChunkBytes(acquisition);
  return MotionMemory{.device_bytes = std::max(converting, Focus::DeviceBytes(plan, device)),
                      .host_bytes = lines + PlanePosesHostBytes(acquisition) +
                                    std::max(chunk, lines + Focus::HostBytes(plan)) +
                                    PlanningBytes(binned)};
}

absl::StatusOr<FoundMotion> FindMotion(const Acquisition& acquisition, const MotionSearch& search,
                                       const ops::RawFrames& frames, std::span<const float> doses,
                                       const ops::Registry& registry, ops::Device& device,
                                       const MotionProgress& progress) {
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  ISO_RETURN_IF_ERROR(CheckMotionViews(static_cast<int64_t>(acquisition.trajectory.size())));
  ISO_RETURN_IF_ERROR(CheckFrames(acquisition, static_cast<int64_t>(acquisition.trajectory.size()),
                                  frames, {}, doses));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, MostVoxels(search)));
  ISO_ASSIGN_OR_RETURN(
      const BinnedLines finest,
      FinestLines(acquisition, BinsFor(acquisition, grid.spacing.x), frames, doses, registry,
                  device, [&progress] { return progress ? progress(0) : absl::OkStatus(); }));
  ISO_RETURN_IF_ERROR(CheckWholeWidth(acquisition, finest, "a motion"));
  return Search(acquisition, search, registry, device, progress).Run(finest, frames, doses);
}

// The mean of rotation vectors is that of small turns only; taken off again it vanishes.
std::vector<RigidPose> AboutTheirMean(std::vector<RigidPose> poses) {
  constexpr int kPasses = 4;
  const double share = 1 / static_cast<double>(poses.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    RigidPose mean;
    for (const RigidPose& pose : poses) {
      mean.turn_rad = mean.turn_rad + share * pose.turn_rad;
      mean.shift_mm = mean.shift_mm + share * pose.shift_mm;
    }
    // The object in its mean pose is what is at rest: T · mean⁻¹.
    const RigidTransform back = Inverse(TransformOf(mean));
    for (RigidPose& pose : poses) pose = PoseOf(Then(back, TransformOf(pose)));
  }
  return poses;
}

}  // namespace isocenter::recon
