// Frames of a chunk -> filtered projections, on one device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/recon/fdk_methods.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

/// The frames of one chunk and what belongs to them.
struct ChunkData {
  Chunk chunk;
  ops::RawFrames frames;
  std::span<const ProjectionMatrix> matrices;
  std::span<const float> doses;  // empty: not told
  /// What FrameCorrector made of the frames, from this view on; null: nothing has corrected them.
  const ops::ProjectionStack* corrected = nullptr;
  int64_t first_corrected = 0;
};

/// Filtered projections and the matrices of the rows that were filtered.
struct Filtered {
  std::unique_ptr<ops::ProjectionStack> stack;
  std::vector<ProjectionMatrix> matrices;
};

/// The first half of filtered back-projection, with the plan's weights. Not thread-safe.
class ChunkFilter {
 public:
  /// `plan` and `session` must outlive the filter. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<ChunkFilter> Create(const ReconstructionPlan& plan,
                                            const FdkMethods& methods, ops::Session& session);

  /// Filters `rows` of the frames. Both stacks, which have room for the chunk, are cut to them.
  absl::Status Run(const ChunkData& data, RowRange rows, ops::ProjectionStack& line_integrals,
                   Filtered& filtered);

 private:
  ChunkFilter(const ReconstructionPlan& plan, ops::Session& session)
      : plan_(&plan), session_(&session) {}

  const ReconstructionPlan* plan_;
  ops::Session* session_;
  std::unique_ptr<ops::Preprocess> preprocess_;
  std::unique_ptr<ops::RampFilter> ramp_filter_;
};

}  // namespace isocenter::recon
