#include "kernels/recon/motion/compensation.h"

#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/motion/angular_steps.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {

absl::Status WeighAsSeen(std::span<const RigidPose> poses, ReconstructionPlan& plan) {
  const Trajectory& trajectory = plan.acquisition.trajectory;
  const int columns = plan.acquisition.detector.columns;
  ISO_ASSIGN_OR_RETURN(const Trajectory seen, SeenAtRest(trajectory, poses));
  if (plan.full_scan) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::vector<double> of_arm,
                       ShortScanWeightsSeen(trajectory, trajectory, columns));
  ISO_ASSIGN_OR_RETURN(const std::vector<double> of_object,
                       ShortScanWeightsSeen(trajectory, seen, columns));
  for (size_t ray = 0; ray < of_arm.size(); ++ray) {
    plan.column_weight[ray] *= static_cast<float>(of_object[ray] / of_arm[ray]);
  }
  return absl::OkStatus();
}

absl::StatusOr<ReconstructionPlan> WithMotion(ReconstructionPlan plan,
                                              std::span<const RigidPose> poses) {
  ISO_RETURN_IF_ERROR(WeighAsSeen(poses, plan));
  Trajectory& trajectory = plan.acquisition.trajectory;
  ISO_ASSIGN_OR_RETURN(const AngularSteps steps, AngularSteps::Create(trajectory));
  ISO_ASSIGN_OR_RETURN(trajectory, SeenAtRest(trajectory, poses));
  std::vector<double> of_frames;
  for (const RigidPose& pose : poses) {
    const std::vector<double> six = ParametersOf(pose);
    of_frames.insert(of_frames.end(), six.begin(), six.end());
  }
  std::vector<double> shares(poses.size());
  steps.Evaluate(of_frames, shares);
  const size_t columns = plan.column_weight.size() / poses.size();
  for (size_t i = 0; i < plan.column_weight.size(); ++i) {
    plan.column_weight[i] *= shares[i / columns];
  }
  return plan;
}

}  // namespace isocenter::recon
