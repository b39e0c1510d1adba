#include <vector>

#include "kernels/cuda/corrections/coarse_frames.cuh"
#include "kernels/cuda/corrections/glare_kernel.cuh"
#include "kernels/cuda/corrections/methods.h"
#include "kernels/cuda/corrections/spread_teams.h"

namespace isocenter::cuda {
namespace {

struct TakeGlare {
  float factor;
  __device__ float operator()(int, float pixel, float glare) const {
    return (pixel - glare) * factor;
  }
};

// The terms that are corrected for.
std::vector<ScaledGaussian> Terms(const ops::Calibration& calibration) {
  std::vector<ScaledGaussian> terms;
  for (const ops::SpreadTerm& term : calibration.glare) {
    if (ops::SpreadsOverBlocks(calibration.detector, term.sigma_mm)) {
      terms.push_back({term.sigma_mm, term.share});
    }
  }
  return terms;
}

class CorrectGlare final : public ops::CorrectGlare {
 public:
  CorrectGlare(CudaSession& session, const Detector& detector,
               const std::vector<ScaledGaussian>& terms, DeviceBuffer<float> tables,
               SpreadTeams teams)
      : ops::CorrectGlare(detector),
        session_(session),
        shape_(detector),
        layout_(TableLayout::Of(shape_.blocks, terms.size())),
        tables_(std::move(tables)),
        teams_(std::move(teams)) {
    double stays = 1;
    for (const ScaledGaussian& term : terms) stays -= term.factor;
    factor_ = static_cast<float>(1 / stays);
  }

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0 || layout_.gaussians == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t of_view = GlareJob::FieldsOfView(shape_.blocks, layout_.gaussians);
    // Room for the largest chunk at once: growing would wait for the device.
    ISO_RETURN_IF_ERROR(fields_.Reserve(session_.memory(), stack->capacity().slow * of_view));
    const cudaStream_t stream = session_.stream();
    ISO_RETURN_IF_ERROR(
        FindBlockMeans(shape_, views, stack->data(), of_view, stream, fields_.data()));
    const SpreadTeams::Team& team = teams_.For(views);
    const GlareJob job{.shape = shape_.blocks,
                       .layout = layout_,
                       .plan = team.plan,
                       .tables = tables_.data(),
                       .factor = factor_,
                       .fields = fields_.data(),
                       .fields_of_view = of_view};
    ISO_RETURN_IF_ERROR(LaunchTeams(GlareKernel, team.parts, kTeamThreads, views,
                                    team.plan.shared_bytes, stream, job));
    return TakeOff(shape_, views, fields_.data(), of_view, TakeGlare{factor_}, stream,
                   stack->data());
  }

  CudaSession& session_;
  const FrameShape shape_;
  const TableLayout layout_;
  const DeviceBuffer<float> tables_;
  const SpreadTeams teams_;
  float factor_ = 1;
  DeviceBuffer<float> fields_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectGlare>> NewCorrectGlare(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const std::vector<ScaledGaussian> terms = Terms(calibration);
  const BlockShape shape = BlockShape::Of(calibration.detector);
  ISO_ASSIGN_OR_RETURN(SpreadTeams teams, SpreadTeams::Create(session, GlareKernel, shape,
                                                              TableLayout::Of(shape, terms.size()),
                                                              /*groups=*/1, sizeof(float)));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> tables,
                       NewTables(session.memory(), calibration.detector, terms));
  return std::make_unique<CorrectGlare>(session, calibration.detector, terms, std::move(tables),
                                        std::move(teams));
}

int64_t CorrectGlareBytes(const ops::Extents& extents, const ops::Calibration& calibration) {
  const BlockShape shape = BlockShape::Of(calibration.detector);
  const auto terms = static_cast<int64_t>(Terms(calibration).size());
  if (terms == 0) return 0;
  return (TableLayout::Of(shape, terms).floats +
          extents.stack.slow * GlareJob::FieldsOfView(shape, terms)) *
         int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
