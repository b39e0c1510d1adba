// Phantoms, noise, and the geometry of simulated scans.
#include "kernels/phantom/phantom.h"

#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/c/arguments.h"
#include "kernels/c/control.h"
#include "kernels/c/status.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/phantom/noise.h"
#include "kernels/recon/slabs.h"

namespace isocenter::c {
namespace {

constexpr int kMostSubsamples = 16;
constexpr int kMostThreads = 1024;

// One that is asked for, and the threads that look at it.
struct Looked {
  std::unique_ptr<phantom::Phantom> phantom;
  std::unique_ptr<ThreadPool> pool;
};

absl::StatusOr<Looked> LookedAt(const isocenter_phantom* asked) {
  ISO_RETURN_IF_ERROR(CheckPointer("phantom", asked));
  ISO_RETURN_IF_ERROR(
      CheckRange<int32_t>("phantom.subsamples", asked->subsamples, 1, kMostSubsamples));
  ISO_RETURN_IF_ERROR(CheckRange<int32_t>("phantom.threads", asked->threads, 0, kMostThreads));
  Looked looked;
  ISO_ASSIGN_OR_RETURN(looked.phantom, phantom::MakePhantom(TextOf(asked->name), asked->scale_mm,
                                                            asked->mu_water_per_mm));
  looked.pool = std::make_unique<ThreadPool>(asked->threads > 0 ? asked->threads : UsableCores());
  return looked;
}

absl::Status Project(const isocenter_phantom* asked, const isocenter_scan* scan, float* projections,
                     int64_t pixels, isocenter_control* control) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition, AcquisitionOf(scan));
  const Detector& detector = acquisition.detector;
  ISO_ASSIGN_OR_RETURN(
      const HostView3<float> out,
      ArrayOf("projections", projections, pixels, {scan->views, detector.rows, detector.columns}));
  ISO_ASSIGN_OR_RETURN(const Looked looked, LookedAt(asked));
  const Control said(control);
  for (int64_t view = 0; view < scan->views; ++view) {
    ISO_RETURN_IF_ERROR(said.Advance(static_cast<double>(view) / static_cast<double>(scan->views)));
    phantom::ProjectView(*looked.phantom, acquisition.trajectory[static_cast<size_t>(view)],
                         detector, asked->subsamples, *looked.pool, out.slices(view, 1));
  }
  return said.Advance(1);
}

absl::Status Voxels(const isocenter_phantom* asked, const isocenter_grid* asked_grid, float* volume,
                    int64_t voxels, isocenter_control* control) {
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, GridOf(asked_grid));
  ISO_ASSIGN_OR_RETURN(const HostView3<float> out, ArrayOf("volume", volume, voxels, grid.shape()));
  ISO_ASSIGN_OR_RETURN(const Looked looked, LookedAt(asked));
  const Control said(control);
  for (int slice = 0; slice < grid.nz; ++slice) {
    ISO_RETURN_IF_ERROR(said.Advance(static_cast<double>(slice) / grid.nz));
    phantom::Rasterize(*looked.phantom, recon::SlicesOf(grid, slice, 1), asked->mu_water_per_mm,
                       asked->subsamples, *looked.pool, out.slices(slice, 1));
  }
  return said.Advance(1);
}

absl::Status AddNoise(const float* projections, int64_t views, int64_t pixels_per_view,
                      double i0_counts, const phantom::NoiseModel& noise, uint16_t* counts) {
  ISO_RETURN_IF_ERROR(CheckRange<int64_t>("views", views, 1, kMaxViews));
  ISO_RETURN_IF_ERROR(
      CheckRange<int64_t>("pixels_per_view", pixels_per_view, 1, int64_t{8192} * 8192));
  ISO_RETURN_IF_ERROR(CheckRange("i0_counts", i0_counts, 1.0, 65535.0));
  ISO_RETURN_IF_ERROR(CheckRange("photons", noise.photons, 0.0, 1e12));
  ISO_RETURN_IF_ERROR(CheckRange("electronic_counts", noise.electronic_counts, 0.0, 65535.0));
  const Shape3 shape{views, 1, pixels_per_view};
  const int64_t count = shape.count();
  ISO_ASSIGN_OR_RETURN(const HostView3<const float> in,
                       ArrayOf("projections", projections, count, shape));
  ISO_ASSIGN_OR_RETURN(const HostView3<uint16_t> out, ArrayOf("counts", counts, count, shape));
  ISO_RETURN_IF_ERROR(
      CheckApart("projections", std::as_bytes(in.span()), "counts", std::as_bytes(out.span())));
  ISO_RETURN_IF_ERROR(CheckFinite("projections", in));
  ThreadPool pool(UsableCores());
  pool.ParallelFor(views, [&](int64_t view, int) {
    phantom::ToCounts(in.slices(view, 1).span(), i0_counts, noise, static_cast<int>(view),
                      out.slices(view, 1).span());
  });
  return absl::OkStatus();
}

absl::Status AutoGrid(const isocenter_scan* scan, int32_t size, isocenter_grid* grid) {
  ISO_RETURN_IF_ERROR(CheckPointer("grid", grid));
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition, AcquisitionOf(scan));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid found,
                       isocenter::AutoGrid(acquisition.trajectory, acquisition.detector, size));
  *grid = ToC(found);
  return absl::OkStatus();
}

absl::Status WobblingOrbit(const isocenter_scan* scan, CircularOrbit orbit, double amplitude,
                           uint64_t seed, double* matrices, int64_t count) {
  ISO_RETURN_IF_ERROR(CheckPointer("scan", scan));
  ISO_RETURN_IF_ERROR(CheckRange<int64_t>("scan.views", scan->views, 1, kMaxViews));
  ISO_RETURN_IF_ERROR(
      CheckArray("matrices", matrices, alignof(double), count, {scan->views, 3, 4}));
  orbit.views = static_cast<int>(scan->views);
  const Detector detector{scan->columns, scan->rows, scan->pitch_u_mm, scan->pitch_v_mm};
  ISO_ASSIGN_OR_RETURN(const Trajectory trajectory,
                       MakeWobblingOrbit(orbit, detector, amplitude, seed));
  for (const ProjectionMatrix& matrix : trajectory) {
    matrices = std::copy(matrix.m.begin(), matrix.m.end(), matrices);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace isocenter::c

using isocenter::c::Call;

const char* isocenter_phantoms(void) {
  static const std::string* const names =
      new std::string(absl::StrJoin(isocenter::phantom::PhantomNames(), " "));
  return names->c_str();
}

isocenter_status isocenter_phantom_project(const isocenter_phantom* phantom,
                                           const isocenter_scan* scan, float* projections,
                                           int64_t pixels, isocenter_control* control) {
  return Call([&] { return isocenter::c::Project(phantom, scan, projections, pixels, control); });
}

isocenter_status isocenter_phantom_voxels(const isocenter_phantom* phantom,
                                          const isocenter_grid* grid, float* volume, int64_t voxels,
                                          isocenter_control* control) {
  return Call([&] { return isocenter::c::Voxels(phantom, grid, volume, voxels, control); });
}

isocenter_status isocenter_add_noise(const float* projections, int64_t views,
                                     int64_t pixels_per_view, double i0_counts, double photons,
                                     double electronic_counts, uint64_t seed, uint16_t* counts) {
  return Call([&] {
    return isocenter::c::AddNoise(projections, views, pixels_per_view, i0_counts,
                                  {photons, electronic_counts, seed}, counts);
  });
}

isocenter_status isocenter_auto_grid(const isocenter_scan* scan, int32_t size,
                                     isocenter_grid* grid) {
  return Call([&] { return isocenter::c::AutoGrid(scan, size, grid); });
}

isocenter_status isocenter_wobbling_orbit(const isocenter_scan* scan, double source_to_isocenter_mm,
                                          double source_to_detector_mm, double start_angle_rad,
                                          double arc_rad, double amplitude, uint64_t seed,
                                          double* matrices, int64_t count) {
  return Call([&] {
    return isocenter::c::WobblingOrbit(scan,
                                       {.source_to_isocenter_mm = source_to_isocenter_mm,
                                        .source_to_detector_mm = source_to_detector_mm,
                                        .start_angle = start_angle_rad,
                                        .arc = arc_rad},
                                       amplitude, seed, matrices, count);
  });
}
