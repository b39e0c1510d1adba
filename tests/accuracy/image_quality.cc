#include "tests/accuracy/image_quality.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::quality {
namespace {

constexpr double kHead = 85;   // mm, the phantom's scale
constexpr double kSide = 173;  // mm, of the grid
constexpr float kEdgeHu = 200;

// Convolves along the axis whose neighbours are `stride` apart; `count` voxels along it.
void BlurAlong(std::vector<float>& voxels, int64_t stride, int count, double sigma) {
  const int reach = static_cast<int>(std::ceil(4 * sigma));
  std::vector<double> kernel;
  double sum = 0;
  for (int i = -reach; i <= reach; ++i) {
    kernel.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
    sum += kernel.back();
  }
  std::vector<float> line(count);
  for (int64_t start = 0; start < static_cast<int64_t>(voxels.size()); ++start) {
    if (start / stride % count != 0) continue;
    for (int i = 0; i < count; ++i) line[i] = voxels[start + i * stride];
    for (int i = 0; i < count; ++i) {
      double value = 0;
      for (int j = -reach; j <= reach; ++j) {
        value += kernel[j + reach] * line[std::clamp(i + j, 0, count - 1)];
      }
      voxels[start + i * stride] = static_cast<float>(value / sum);
    }
  }
}

bool InHead(Vec3 p) {
  const Vec3 q{p.x / (0.74 * kHead), p.y / (0.88 * kHead), p.z / (0.96 * kHead)};
  return Dot(q, q) < 1 && std::abs(p.z) < 0.5 * kHead;
}

}  // namespace

absl::StatusOr<Scan> MakeScan(const ScanOptions& options, ThreadPool& pool) {
  Scan scan;
  const double scale = options.size / 96.0;  // pixels shrink with voxels
  scan.acquisition.detector = {.columns = static_cast<int>(std::lround(144 * scale)),
                               .rows = static_cast<int>(std::lround(128 * scale)),
                               .pitch_u_mm = 2.4 / scale,
                               .pitch_v_mm = 2.4 / scale};
  const CircularOrbit orbit{.views = options.full_views,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .start_angle = -1.2,
                            .arc = DegreesToRadians(options.arc_deg)};
  ISO_ASSIGN_OR_RETURN(const Trajectory all,
                       MakeWobblingOrbit(orbit, scan.acquisition.detector, 1, 4));
  for (size_t view = 0; view < all.size(); view += options.every) {
    scan.acquisition.trajectory.push_back(all[view]);
  }
  scan.grid = CenteredGrid(options.size, options.size, options.size,
                           (kSide / options.size) * Vec3{1, 1, 1});
  ISO_ASSIGN_OR_RETURN(const auto head, phantom::MakePhantom("head", kHead, kMuWater));
  const Shape3 shape = scan.frame_shape();
  scan.counts.resize(shape.count());
  std::vector<float> frame(shape.middle * shape.fast);
  for (int view = 0; view < shape.slow; ++view) {
    phantom::ProjectView(*head, scan.acquisition.trajectory[view], scan.acquisition.detector, 2,
                         pool, {frame.data(), {1, shape.middle, shape.fast}});
    phantom::ToCounts(
        frame, scan.acquisition.i0_counts,
        {.photons = options.photons, .electronic_counts = options.electronic_counts, .seed = 7},
        view, std::span(scan.counts).subspan(view * frame.size(), frame.size()));
  }
  scan.truth.resize(scan.grid.voxels());
  phantom::Rasterize(*head, scan.grid, kMuWater, 3, pool, {scan.truth.data(), scan.grid.shape()});
  return scan;
}

Judge::Judge(const Scan& scan) : scan_(scan) {
  const VolumeGrid& grid = scan.grid;
  const HostView3<const float> truth(scan.truth.data(), grid.shape());
  constexpr int kNear = 3;  // voxels
  for (int k = kNear; k < grid.nz - kNear; ++k) {
    for (int j = kNear; j < grid.ny - kNear; ++j) {
      for (int i = kNear; i < grid.nx - kNear; ++i) {
        if (!InHead(grid.VoxelToWorld(i, j, k))) continue;
        const int64_t at = (int64_t{k} * grid.ny + j) * grid.nx + i;
        head_.push_back(at);
        float least = truth(k, j, i), most = least;
        for (int c = -kNear; c <= kNear; ++c) {
          for (int b = -kNear; b <= kNear; ++b) {
            for (int a = -kNear; a <= kNear; ++a) {
              least = std::min(least, truth(k + c, j + b, i + a));
              most = std::max(most, truth(k + c, j + b, i + a));
            }
          }
        }
        if (most - least >= kEdgeHu) {
          edge_voxels_.push_back(at);
        } else if (std::abs(truth(k, j, i)) < 150) {
          brain_.push_back(at);
        }
      }
    }
  }
  const double spacing = grid.spacing.x;
  for (double sigma = 0.125; sigma < 3; sigma += 0.125) {  // voxels
    std::vector<float> voxels = scan.truth;
    BlurAlong(voxels, 1, grid.nx, sigma);
    BlurAlong(voxels, grid.nx, grid.ny, sigma);
    BlurAlong(voxels, int64_t{grid.nx} * grid.ny, grid.nz, sigma);
    Blurred& blurred = blurred_.emplace_back();
    blurred.sigma_mm = sigma * spacing;
    for (const int64_t at : edge_voxels_) blurred.edges.push_back(voxels[at]);
  }
}

Figures Judge::Measure(const std::vector<float>& hounsfield) const {
  const auto rmse = [&](const std::vector<int64_t>& voxels) {
    double square = 0;
    for (const int64_t at : voxels) {
      square += (hounsfield[at] - scan_.truth[at]) * (hounsfield[at] - scan_.truth[at]);
    }
    return std::sqrt(square / static_cast<double>(voxels.size()));
  };
  Figures figures{.rmse = rmse(brain_), .rmse_head = rmse(head_)};
  std::vector<double> squares;
  for (const Blurred& blurred : blurred_) {
    double square = 0;
    for (size_t i = 0; i < edge_voxels_.size(); ++i) {
      const double difference = hounsfield[edge_voxels_[i]] - blurred.edges[i];
      square += difference * difference;
    }
    squares.push_back(square);
  }
  const size_t best = std::min_element(squares.begin(), squares.end()) - squares.begin();
  figures.edge_mm = blurred_[best].sigma_mm;
  if (best > 0 && best + 1 < squares.size()) {  // the vertex of the parabola through three
    const double before = squares[best - 1], at = squares[best], after = squares[best + 1];
    const double offset = 0.5 * (before - after) / (before - 2 * at + after);
    figures.edge_mm += offset * (blurred_[1].sigma_mm - blurred_[0].sigma_mm);
  }
  return figures;
}

absl::StatusOr<std::vector<float>> Fdk(const Scan& scan, ops::FilterWindow window, double cutoff,
                                       const ops::Registry& registry, ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(
      const auto plan,
      recon::MakePlan(scan.acquisition, scan.grid,
                      {.window = window, .cutoff = cutoff, .mu_water_per_mm = kMuWater}, registry,
                      device));
  std::vector<float> volume(scan.grid.voxels());
  ISO_RETURN_IF_ERROR(recon::ReconstructAll(plan, registry, device, scan.frames(),
                                            {volume.data(), scan.grid.shape()})
                          .status());
  return volume;
}

absl::StatusOr<FdkCurve> FdkCurve::Make(const Scan& scan, const Judge& judge,
                                        const ops::Registry& registry, ops::Device& device) {
  FdkCurve curve;
  const auto add = [&](ops::FilterWindow window, double cutoff) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const std::vector<float> volume,
                         Fdk(scan, window, cutoff, registry, device));
    curve.figures_.push_back(judge.Measure(volume));
    return absl::OkStatus();
  };
  ISO_RETURN_IF_ERROR(add(ops::FilterWindow::kRamLak, 1));
  ISO_RETURN_IF_ERROR(add(ops::FilterWindow::kCosine, 1));
  for (const double cutoff : {1.0, 0.85, 0.7, 0.6, 0.5, 0.42, 0.35, 0.3}) {
    ISO_RETURN_IF_ERROR(add(ops::FilterWindow::kHann, cutoff));
  }
  return curve;
}

double FdkCurve::RmseAt(double edge_mm) const {
  if (edge_mm <= figures_.front().edge_mm) return figures_.front().rmse;
  for (size_t i = 1; i < figures_.size(); ++i) {
    const Figures &sharp = figures_[i - 1], &wide = figures_[i];
    if (edge_mm > wide.edge_mm) continue;
    const double part = (edge_mm - sharp.edge_mm) / (wide.edge_mm - sharp.edge_mm);
    return sharp.rmse + part * (wide.rmse - sharp.rmse);
  }
  return figures_.back().rmse;
}

absl::StatusOr<std::vector<float>> Refine(const Scan& scan, const Candidate& candidate,
                                          const ops::Registry& registry, ops::Device& device,
                                          std::vector<recon::IterationReport>* reports) {
  ops::Device* const devices[] = {&device};
  ISO_ASSIGN_OR_RETURN(const auto plan,
                       recon::MakeRefinementPlan(scan.acquisition, scan.grid,
                                                 {.window = ops::FilterWindow::kHann,
                                                  .cutoff = candidate.fdk_cutoff,
                                                  .mu_water_per_mm = kMuWater},
                                                 candidate.settings, registry, devices));
  std::vector<float> volume(scan.grid.voxels());
  ISO_ASSIGN_OR_RETURN(const auto made, recon::RefineAll(plan, registry, devices, scan.frames(),
                                                         {volume.data(), scan.grid.shape()}));
  if (reports != nullptr) *reports = made;
  return volume;
}

std::vector<Candidate> Candidates() {
  using recon::Algorithm;
  return {
      {"SIRT", {.algorithm = Algorithm::kSirt, .iterations = 10}},
      {"SART", {.algorithm = Algorithm::kSart, .iterations = 3, .relaxation = 0.3}},
      {"OS-SART", {.algorithm = Algorithm::kOsSart, .iterations = 5, .relaxation = 0.5}},
      {"CGLS", {.algorithm = Algorithm::kCgls, .iterations = 3}},
      {"LSQR", {.algorithm = Algorithm::kLsqr, .iterations = 3}},
      {"OS-SQS",
       {.algorithm = Algorithm::kOsSqs,
        .iterations = 20,
        .statistical_weights = true,
        .prior_strength = 1}},
      {"ASD-POCS", {.algorithm = Algorithm::kAsdPocs, .iterations = 20, .prior_strength = 1}},
      {"FISTA-TV", {.algorithm = Algorithm::kFistaTv, .iterations = 40, .prior_strength = 1}},
  };
}

}  // namespace isocenter::quality
