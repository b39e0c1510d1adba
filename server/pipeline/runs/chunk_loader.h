// From the spool into the memory that a device takes its frames from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/recon/plan.h"
#include "server/jobs/frame_spool.h"
#include "server/pipeline/frames/frame_ledger.h"

namespace isocenter::pipeline {

/// What a reconstructor is told of a chunk's views besides their pixels.
struct Measured {
  std::vector<ProjectionMatrix> matrices;  // empty: all are as planned
  std::vector<float> doses;                // empty: none was told; 0: this one was not
};

/// Fills `pixels`, [view][v][u], with what stands for the views of a chunk, and `measured` with
/// one value per view, or none. Line integrals that no beam gives are repaired
/// (recon::RepairLineIntegrals). Errors: those of JobSpool::Read.
absl::Status LoadChunk(jobs::JobSpool& spool, const recon::Acquisition& acquisition,
                       std::span<const ViewSource> sources, std::span<std::byte> pixels,
                       Measured& measured);

/// Loaded pixels as a reconstructor takes them.
ops::RawFrames AsFrames(const recon::Acquisition& acquisition, int views,
                        std::span<const std::byte> pixels);

}  // namespace isocenter::pipeline
