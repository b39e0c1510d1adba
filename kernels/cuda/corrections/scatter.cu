#include <vector>

#include "kernels/cuda/corrections/coarse_frames.cuh"
#include "kernels/cuda/corrections/methods.h"
#include "kernels/cuda/corrections/scatter_kernel.cuh"
#include "kernels/cuda/corrections/spread_teams.h"

namespace isocenter::cuda {
namespace {

struct TakeScatter {
  const float* doses;
  __device__ float operator()(int view, float pixel, float scatter) const {
    return fmaxf(fmaf(-doses[view], scatter, pixel),
                 static_cast<float>(ops::kLeastPrimary) * pixel);
  }
};

// The Gaussians of all groups that have a share, and whose they are.
struct Gaussians {
  explicit Gaussians(const ops::ScatterKernels& kernels) {
    for (size_t number = 0; number < kernels.groups.size(); ++number) {
      const ops::ScatterKernels::Group& group = kernels.groups[number];
      Add({group.narrow_sigma_mm, 1 - group.wide_share}, static_cast<int>(number));
      Add({group.wide_sigma_mm, group.wide_share}, static_cast<int>(number));
    }
  }
  void Add(const ScaledGaussian& gaussian, int group) {
    if (gaussian.factor == 0) return;
    all.push_back(gaussian);
    group_of.push_back(group);
  }
  std::vector<ScaledGaussian> all;
  std::vector<int> group_of;
};

// What does not change from chunk to chunk.
ScatterJob MakeJob(const ops::Calibration& calibration, const Gaussians& gaussians) {
  const ops::ScatterKernels& kernels = *calibration.scatter;
  ScatterJob job = {};
  job.shape = BlockShape::Of(calibration.detector);
  job.layout = TableLayout::Of(job.shape, gaussians.all.size());
  job.groups = static_cast<int>(kernels.groups.size());
  for (size_t i = 0; i < kernels.groups.size(); ++i) {
    const ops::ScatterKernels::Group& group = kernels.groups[i];
    job.group[i] = {static_cast<float>(group.from_mm), static_cast<float>(group.amplitude),
                    static_cast<float>(group.alpha), static_cast<float>(group.beta)};
  }
  std::copy(gaussians.group_of.begin(), gaussians.group_of.end(), job.group_of);
  job.inverse_mu = static_cast<float>(1 / kernels.mu_water_per_mm);
  job.gamma = static_cast<float>(kernels.gamma_per_mm);
  job.fields_of_view = ScatterJob::FieldsOfView(job.shape, job.layout.gaussians);
  return job;
}

class CorrectScatter final : public ops::CorrectScatter {
 public:
  CorrectScatter(CudaSession& session, const Detector& detector, const ScatterJob& job,
                 DeviceBuffer<float> tables, SpreadTeams teams)
      : ops::CorrectScatter(detector),
        session_(session),
        shape_(detector),
        job_(job),
        tables_(std::move(tables)),
        teams_(std::move(teams)) {
    job_.tables = tables_.data();
  }

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(const Stack* dose_stack, AsStack(doses));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    // Room for the largest chunk at once: growing would wait for the device.
    ISO_RETURN_IF_ERROR(
        fields_.Reserve(session_.memory(), stack->capacity().slow * job_.fields_of_view));
    const cudaStream_t stream = session_.stream();
    ISO_RETURN_IF_ERROR(
        FindBlockMeans(shape_, views, stack->data(), job_.fields_of_view, stream, fields_.data()));
    ScatterJob job = job_;
    job.doses = dose_stack->data();
    job.fields = fields_.data();
    const SpreadTeams::Team& team = teams_.For(views);
    job.plan = team.plan;
    ISO_RETURN_IF_ERROR(LaunchTeams(ScatterKernel, team.parts, kTeamThreads, views,
                                    job.plan.shared_bytes, stream, job));
    return TakeOff(shape_, views, fields_.data(), job.fields_of_view, TakeScatter{job.doses},
                   stream, stack->data());
  }

  CudaSession& session_;
  const FrameShape shape_;
  ScatterJob job_;
  const DeviceBuffer<float> tables_;
  const SpreadTeams teams_;
  DeviceBuffer<float> fields_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(ops::CheckHasScatter(calibration));
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const Gaussians gaussians(*calibration.scatter);
  const ScatterJob job = MakeJob(calibration, gaussians);
  ISO_ASSIGN_OR_RETURN(SpreadTeams teams,
                       SpreadTeams::Create(session, ScatterKernel, job.shape, job.layout,
                                           job.groups, sizeof(float2)));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> tables,
                       NewTables(session.memory(), calibration.detector, gaussians.all));
  return std::make_unique<CorrectScatter>(session, calibration.detector, job, std::move(tables),
                                          std::move(teams));
}

int64_t CorrectScatterBytes(const ops::Extents& extents, const ops::Calibration& calibration) {
  if (!calibration.scatter.has_value()) return 0;
  const ScatterJob job = MakeJob(calibration, Gaussians(*calibration.scatter));
  return (job.layout.floats + extents.stack.slow * job.fields_of_view) * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
