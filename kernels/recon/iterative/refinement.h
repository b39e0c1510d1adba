// Executes a refinement plan on its devices, in steps short enough that other work can go between.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/device_worker.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/trace.h"

namespace isocenter::recon {

struct FoundMotion;      // motion/find_motion.h
struct SelfCalibration;  // self_calibration/self_calibration.h
struct ReferenceVolume;  // self_calibration/reference/reference_volume.h

/// A better reconstruction of one acquisition. Not thread-safe; one thread drives it. Push all
/// frames, with StepEarly between them where there is time, Start, then Step until it says that it
/// is done or enough time has passed, then Read: an iterative one may be read after any step. The
/// same plan on the same backend gives the same bits.
class Refinement {
 public:
  /// An iterative one; NewSecondPass makes the others. `devices` are those that the plan was made
  /// for; they and `plan` must outlive the refinement. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (a
  /// method that the backend lacks).
  static absl::StatusOr<std::unique_ptr<Refinement>> Create(const RefinementPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);
  virtual ~Refinement() = default;

  /// The next frames in the order of the trajectory, plan.chunk_views at most; they are the
  /// caller's again on return. `measured`, `doses`: as Reconstructor::Push. Errors:
  /// INVALID_ARGUMENT (shape, pixel type, more than there are).
  virtual absl::Status Push(const ops::RawFrames& frames,
                            std::span<const ProjectionMatrix> measured = {},
                            std::span<const float> doses = {}) = 0;

  /// An earlier volume of the same patient, for one whose settings have the grid of such a
  /// reference; before Start. Errors: FAILED_PRECONDITION (its settings have none).
  virtual absl::Status SetReference(ReferenceVolume reference);

  /// Before Start: the next part of the plan's early passes, as Step, if its frames have been
  /// pushed. True when there is nothing to do until more have. Whenever it is called, or never,
  /// which leaves that to Step, the bits are the same.
  virtual absl::StatusOr<bool> StepEarly() { return true; }

  /// After the last frame. `hounsfield` [z][y][x] is where to begin, or empty for zero. Errors:
  /// FAILED_PRECONDITION (frames or the reference missing), INVALID_ARGUMENT (shape, values that
  /// are not finite, a volume beside early passes from zero).
  virtual absl::Status Start(HostView3<const float> hounsfield) = 0;

  /// The next part of the work: chunk_views views, forward and back, and the update of the volume
  /// that they complete. It may go on after the call; one step at most is under way. True when the
  /// last pass has ended or a criterion of the settings is met.
  virtual absl::StatusOr<bool> Step() = 0;

  /// Of the passes that have ended.
  virtual std::span<const IterationReport> reports() const = 0;
  /// Of all passes, what has been done: 0 to 1.
  virtual double progress() const = 0;

  /// Whether there is anything better to read than the volume that it began with.
  virtual bool readable() const = 0;
  /// The best volume so far in HU: the iterate after the last update that is complete, or what the
  /// algorithm makes of its iterates. Waits.
  virtual absl::Status Read(HostView3<float> hounsfield) = 0;

  /// What it found out on its way, for people; after the last step.
  virtual std::vector<std::string> findings() const { return {}; }
  /// After the last step: how the object moved; null: nobody looked.
  virtual const FoundMotion* motion() const { return nullptr; }
  /// After the last step: where the detector was; null: nobody looked.
  virtual const SelfCalibration* self_calibration() const { return nullptr; }

  /// What the devices did since the last call, on one clock; waits for them.
  virtual absl::StatusOr<std::vector<DeviceSpan>> TakeTrace() = 0;
};

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x],
/// beginning with FDK where the settings say so. `report`, if there is one, is called after each
/// pass with the volume so far unread; false ends the refinement. `doses`: empty, or one for each
/// frame.
absl::StatusOr<std::vector<IterationReport>> RefineAll(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report = nullptr,
    std::span<const float> doses = {});

/// The same, beginning with another volume in HU, [z][y][x]: that of all frames, where these are of
/// a phase. The plan has no warm start. `start` may be `volume`. Errors: INVALID_ARGUMENT, too,
/// where it has one.
absl::StatusOr<std::vector<IterationReport>> RefineFrom(
    HostView3<const float> start, const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report = nullptr,
    std::span<const float> doses = {});

}  // namespace isocenter::recon
