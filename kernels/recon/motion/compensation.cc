#include "kernels/recon/motion/compensation.h"

#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/recon/motion/angular_steps.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {

absl::StatusOr<ReconstructionPlan> WithMotion(ReconstructionPlan plan,
                                              std::span<const RigidPose> poses) {
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
