#include <algorithm>

#include "kernels/cuda/corrections/find_doses_kernel.cuh"
#include "kernels/cuda/corrections/launch_team.h"
#include "kernels/cuda/corrections/methods.h"

namespace isocenter::cuda {
namespace {

DoseJob MakeJob(const ops::Calibration& calibration) {
  const Detector& detector = calibration.detector;
  DoseJob job = {};
  job.rows = detector.rows;
  job.columns = detector.columns;
  job.tile_rows = detector.rows / ops::kAirTile;
  job.across = calibration.air.columns / ops::kAirTile;
  return job;
}

class FindDoses final : public ops::FindDoses {
 public:
  FindDoses(CudaSession& session, const ops::Calibration& calibration, int parts)
      : ops::FindDoses(calibration.detector),
        session_(session),
        job_(MakeJob(calibration)),
        parts_(parts) {}

 private:
  absl::Status DoRun(std::span<const float> given, const ops::ProjectionStack& frames,
                     ops::ProjectionStack& doses) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(doses));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    // Room for the largest chunk at once: growing would wait for the device.
    ISO_RETURN_IF_ERROR(means_.Reserve(session_.memory(), stack->capacity().slow * job_.tiles()));
    for (size_t first = 0; first < given.size(); first += kDosesAtOnce) {
      const std::span<const float> part =
          given.subspan(first, std::min<size_t>(kDosesAtOnce, given.size() - first));
      DoseJob job = job_;
      job.frames = stack->data() + static_cast<int64_t>(first) * job.rows * job.columns;
      job.means = means_.data() + static_cast<int64_t>(first) * job.tiles();
      job.doses = out->data() + first;
      std::copy(part.begin(), part.end(), job.given);
      ISO_RETURN_IF_ERROR(LaunchTeams(FindDosesKernel, parts_, kDoseThreads,
                                      static_cast<int64_t>(part.size()), 0, session_.stream(),
                                      job));
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  const DoseJob job_;
  const int parts_;
  DeviceBuffer<float> means_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FindDoses>> NewFindDoses(CudaSession& session,
                                                             const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(const int parts, TeamParts(session));
  return std::make_unique<FindDoses>(session, calibration, parts);
}

int64_t FindDosesBytes(const ops::Extents& extents, const ops::Calibration& calibration) {
  return extents.stack.slow * MakeJob(calibration).tiles() * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
