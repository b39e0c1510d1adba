#include "tests/bench/ladder/filtered_scan.h"

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/chunk_filter.h"
#include "tests/all_methods.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

constexpr double kHeadMm = 110, kMuWater = 0.02;

}  // namespace

VolumeGrid BenchmarkCube(int voxels) {
  const double mm = 256.0 / voxels;
  return CenteredGrid(voxels, voxels, voxels, {mm, mm, mm});
}

absl::StatusOr<FilteredScan> MakeFilteredScan(int views, int binning) {
  recon::Acquisition acquisition{.detector = {.columns = 1248 / binning,
                                              .rows = 960 / binning,
                                              .pitch_u_mm = 0.32 * binning,
                                              .pitch_v_mm = 0.32 * binning},
                                 .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  const Detector& detector = acquisition.detector;
  ISO_ASSIGN_OR_RETURN(acquisition.trajectory, MakeCircularOrbit({.views = views,
                                                                  .source_to_isocenter_mm = 750,
                                                                  .source_to_detector_mm = 1200,
                                                                  .arc = DegreesToRadians(200)},
                                                                 detector));
  ISO_ASSIGN_OR_RETURN(const auto session, OpenSession(AllMethods(), "cpu", {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(
      const recon::ReconstructionPlan plan,
      recon::MakePlan(acquisition, BenchmarkCube(128), {.mu_water_per_mm = kMuWater}, AllMethods(),
                      *session.device));
  ISO_ASSIGN_OR_RETURN(const recon::FdkMethods methods,
                       recon::FdkMethods::Find(plan.settings, detector, AllMethods(), "cpu"));
  ISO_ASSIGN_OR_RETURN(recon::ChunkFilter filter,
                       recon::ChunkFilter::Create(plan, methods, *session));
  const Shape3 largest{recon::LargestChunk(plan), detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(const auto lines,
                       session->NewProjectionStack(largest, ops::StackUse::kLineIntegrals));
  recon::Filtered filtered;
  ISO_ASSIGN_OR_RETURN(filtered.stack,
                       session->NewProjectionStack(largest, ops::StackUse::kProjections));

  ISO_ASSIGN_OR_RETURN(const auto head, phantom::MakePhantom("head", kHeadMm, kMuWater));
  ThreadPool pool(UsableCores());
  FilteredScan scan{.matrices = acquisition.trajectory,
                    .shape = {views, detector.rows, detector.columns},
                    .hu_per_attenuation = 1000 / kMuWater};
  scan.images.resize(static_cast<size_t>(scan.shape.count()));
  const HostView3<float> all(scan.images.data(), scan.shape);
  for (const recon::Chunk& chunk : plan.chunks) {
    const HostView3<float> images = all.slices(chunk.first_view, chunk.views);
    for (int i = 0; i < chunk.views; ++i) {
      phantom::ProjectView(*head, scan.matrices[chunk.first_view + i], detector, 1, pool,
                           images.slices(i, 1));
    }
    ISO_RETURN_IF_ERROR(
        filter.Run({.chunk = chunk,
                    .frames = {.line_integrals = images},
                    .matrices = std::span(scan.matrices).subspan(chunk.first_view, chunk.views)},
                   {0, detector.rows}, *lines, filtered));
    ISO_RETURN_IF_ERROR(filtered.stack->Download(0, images));
  }
  return scan;
}

}  // namespace isocenter::bench
