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
#include "kernels/recon/motion/angular_steps.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/focus.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/motion/minimize.h"
#include "kernels/recon/motion/plane_poses.h"
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

// Of the time of a search that finds a motion, until planes are looked at.
constexpr double kSharpeningShare = 0.8;

/// One search: the curve as it is known, refined from level to level.
class Search {
 public:
  Search(const Acquisition& acquisition, const MotionSearch& search, AngularSteps steps,
         const ops::Registry& registry, ops::Device& device, const MotionProgress& progress)
      : acquisition_(acquisition),
        search_(search),
        steps_(std::move(steps)),
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
      ISO_RETURN_IF_ERROR(UsePlanes(finest, frames, doses, found));
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

  /// A level's frames and volume.
  struct Coarse {
    ReconstructionPlan plan;
    std::unique_ptr<Focus> focus;
  };
  absl::StatusOr<std::unique_ptr<Coarse>> Make(const MotionLevel& level,
                                               const BinnedLines& finest) {
    ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                         AutoGrid(acquisition_.trajectory, acquisition_.detector, level.voxels));
    const PixelBins again = BinsFor(Binned(acquisition_, finest.bins), grid.spacing.x);
    const PixelBins bins = BothBins(finest.bins, again);
    const ops::Device* const devices[] = {&device_};
    auto made = std::make_unique<Coarse>();
    ISO_ASSIGN_OR_RETURN(made->plan, MakePlan(Binned(acquisition_, bins), grid, search_.fdk,
                                              registry_, devices, Arrival::kComplete));
    const BinnedLines coarse = BinnedAgain(made->plan.acquisition, finest, again);
    ISO_ASSIGN_OR_RETURN(
        made->focus, Focus::Create(made->plan, bins, coarse.view(), registry_, device_, threads_));
    return made;
  }

  absl::Status RunLevel(const MotionLevel& level, const BinnedLines& finest, FoundMotion& found) {
    while (spans_ < level.spans) {
      controls_ = WithTwiceTheSpans(controls_, kPose, spans_);
      spans_ *= 2;
    }
    ISO_ASSIGN_OR_RETURN(const auto coarse, Make(level, finest));
    return Sharpen(level, *coarse->focus, found);
  }

  absl::Status Tell(double done) const {
    return progress_ == nullptr ? absl::OkStatus() : progress_(done);
  }

  // Of the finest volume, on the scale that it has with all poses at rest.
  absl::StatusOr<double> FinestEntropy(const BinnedLines& finest,
                                       const std::vector<RigidPose>& poses) {
    ISO_ASSIGN_OR_RETURN(const auto coarse, Make(search_.levels.back(), finest));
    std::vector<double> of_frames(size_t(views()) * kPose, 0.0), unused(of_frames.size());
    ISO_RETURN_IF_ERROR(Entropy(*coarse->focus, of_frames, unused).status());
    of_frames.clear();
    for (const RigidPose& pose : poses) {
      const std::vector<double> six = ParametersOf(pose);
      of_frames.insert(of_frames.end(), six.begin(), six.end());
    }
    return Entropy(*coarse->focus, of_frames, unused);
  }

  // Poses that planes agree about better, where the volume still tells that there is a motion.
  absl::Status UsePlanes(const BinnedLines& finest, const ops::RawFrames& frames,
                         std::span<const float> doses, FoundMotion& found) {
    ISO_ASSIGN_OR_RETURN(
        PlanePoses planes,
        FitByPlanes(acquisition_, found.poses, frames, doses, registry_, device_, threads_,
                    [this](double done) {
                      return Tell(kSharpeningShare + (1 - kSharpeningShare) * done);
                    }));
    found.planes_before = found.planes_after = planes.before;
    found.planes_not_used = std::move(planes.kept);
    if (!found.planes_not_used.empty()) return absl::OkStatus();
    planes.poses = AboutTheirMean(std::move(planes.poses));
    ISO_ASSIGN_OR_RETURN(const double entropy, FinestEntropy(finest, planes.poses));
    if (found.entropy_before - entropy < kLeastEntropyGain) {
      found.planes_not_used = absl::StrFormat(
          "with the poses that they tell the entropy is %.3f, legal is %.2f less than %.3f",
          entropy, kLeastEntropyGain, found.entropy_before);
      return absl::OkStatus();
    }
    found.poses = std::move(planes.poses);
    found.entropy_after = entropy;
    found.planes_after = planes.after;
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

  // The entropy where the frames' poses are `of_frames`, its derivatives into `by_frame`.
  absl::StatusOr<double> Entropy(Focus& focus, std::span<const double> of_frames,
                                 std::span<double> by_frame) {
    const auto of_view = [](auto all, int view) {
      return all.subspan(size_t(view) * kPose, kPose);
    };
    std::vector<double> lengths(views()), shares(views()), by_share(views());
    std::vector<ProjectionMatrix> matrices(views());
    std::vector<ops::MatrixSlope> slopes(views());
    for (int view = 0; view < views(); ++view) {
      matrices[view] = InPose(acquisition_.trajectory[view], of_view(of_frames, view));
      lengths[view] = matrices[view].m[11];
      for (double& element : matrices[view].m) element /= lengths[view];
    }
    steps_.Evaluate(of_frames, shares);
    ISO_ASSIGN_OR_RETURN(const double entropy, focus.Evaluate(matrices, shares, slopes, by_share));
    for (int view = 0; view < views(); ++view) {
      // Of Q / q with q Q's last element: (S - (S · Q / q) e) / q.
      double dot = 0;
      for (int i = 0; i < 12; ++i) dot += slopes[view][i] * matrices[view].m[i];
      slopes[view][11] -= dot;
      for (double& element : slopes[view]) element /= lengths[view];
      PullToPose(acquisition_.trajectory[view], of_view(of_frames, view), slopes[view],
                 of_view(by_frame, view));
    }
    steps_.Gather(shares, by_share, by_frame);
    return entropy;
  }

  absl::Status Sharpen(const MotionLevel& level, Focus& focus, FoundMotion& found) {
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
      ISO_ASSIGN_OR_RETURN(entropy, Entropy(focus, of_frames, by_frame));
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
  const AngularSteps steps_;
  const ops::Registry& registry_;
  ops::Device& device_;
  const MotionProgress& progress_;
  ThreadPool threads_;
  int spans_;
  std::vector<double> controls_;
  double done_work_ = 0, all_work_ = 0;
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
                      .host_bytes = lines +
                                    std::max({chunk, lines + Focus::HostBytes(plan),
                                              PlanePosesHostBytes(acquisition)}) +
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
  ISO_ASSIGN_OR_RETURN(AngularSteps steps, AngularSteps::Create(acquisition.trajectory));
  return Search(acquisition, search, std::move(steps), registry, device, progress)
      .Run(finest, frames, doses);
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
