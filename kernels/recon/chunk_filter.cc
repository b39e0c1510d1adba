#include "kernels/recon/chunk_filter.h"

#include "kernels/base/status_macros.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {

absl::StatusOr<ChunkFilter> ChunkFilter::Create(const ReconstructionPlan& plan,
                                                const FdkMethods& methods, ops::Session& session) {
  ChunkFilter self(plan, session);
  ISO_ASSIGN_OR_RETURN(self.preprocess_, methods.preprocess(session));
  ISO_ASSIGN_OR_RETURN(self.ramp_filter_, methods.ramp_filter(session, methods.filter));
  return self;
}

absl::Status ChunkFilter::Run(const ChunkData& data, RowRange rows,
                              ops::ProjectionStack& line_integrals, Filtered& filtered) {
  const int columns = plan_->acquisition.detector.columns;
  const int filtered_columns = plan_->filtered_detector.columns;
  std::vector<ops::ViewWeights> weights;
  filtered.matrices.clear();
  for (int i = 0; i < data.chunk.views; ++i) {
    const ProjectionMatrix matrix = WithoutRowsBefore(data.matrices[i], rows.first);
    const size_t view = data.chunk.first_view + i;
    weights.push_back({matrix, std::span(plan_->column_weight).subspan(view * columns, columns)});
    filtered.matrices.push_back(WithColumnsBefore(matrix, plan_->first_column));
  }
  ISO_RETURN_IF_ERROR(
      line_integrals.Reshape({line_integrals.shape().slow, rows.count, filtered_columns}));
  ISO_RETURN_IF_ERROR(
      filtered.stack->Reshape({filtered.stack->shape().slow, rows.count, filtered_columns}));
  {
    const StageScope scope(session_->timeline(), ops::Stage::kPreprocess);
    ISO_RETURN_IF_ERROR(data.corrected == nullptr
                            ? preprocess_->Run(data.frames.rows(rows.first, rows.count),
                                               {.i0 = plan_->acquisition.i0_counts}, weights,
                                               line_integrals, plan_->first_column)
                            : preprocess_->Weigh(*data.corrected, data.first_corrected, rows,
                                                 weights, line_integrals, plan_->first_column));
  }
  const StageScope scope(session_->timeline(), ops::Stage::kFilter);
  return ramp_filter_->Run(data.chunk.views, line_integrals, *filtered.stack);
}

}  // namespace isocenter::recon
