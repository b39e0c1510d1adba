#include "kernels/recon/second_pass/metal_light.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/calibrate/registration/frame_match.h"

namespace isocenter::recon {
namespace {

constexpr float kFullLight = 255;
// Of the diagonal, where terms hardly differ: as few paths do.
constexpr double kDamping = 1e-9;

double LightOf(double line) { return std::clamp(kDarkLine - line, 0.0, 1.0); }

int64_t Rays(const Acquisition& acquisition) {
  return static_cast<int64_t>(acquisition.trajectory.size()) * acquisition.detector.rows *
         acquisition.detector.columns;
}

// Rows whose rays are between the first and the last slice wherever the grid is; from > to: none.
std::pair<double, double> RowsWithin(const VolumeGrid& grid, const ProjectionMatrix& matrix) {
  double least[2] = {1e9, 1e9}, most[2] = {-1e9, -1e9};
  for (int face = 0; face < 2; ++face) {
    for (int corner = 0; corner < 4; ++corner) {
      const Vec3 at =
          grid.VoxelToWorld((corner & 1) != 0 ? grid.nx - 1 : 0,
                            (corner & 2) != 0 ? grid.ny - 1 : 0, face != 0 ? grid.nz - 1 : 0);
      const Projected place = matrix.Project(at);
      if (!(place.w > 0)) return {1, 0};
      least[face] = std::min(least[face], place.v());
      most[face] = std::max(most[face], place.v());
    }
  }
  const int low = least[0] < least[1] ? 0 : 1;
  return {most[low], least[1 - low]};
}

}  // namespace

void MarkMetal(HostView3<const float> metal, HostView3<float> marked) {
  std::ranges::transform(metal.span(), marked.span().begin(),
                         [](float hu) { return hu != 0 ? 1.f : 0.f; });
}

void KeepMetal(const VolumeGrid& grid, const ops::HounsfieldScale& scale,
               HostView3<const float> metal, HostView3<float> volume) {
  const auto is_metal = [&](int z, int y, int x) {
    return z >= 0 && y >= 0 && x >= 0 && z < grid.nz && y < grid.ny && x < grid.nx &&
           metal(z, y, x) != 0;
  };
  for (int z = 0; z < grid.nz; ++z) {
    for (int y = 0; y < grid.ny; ++y) {
      for (int x = 0; x < grid.nx; ++x) {
        const bool kept = is_metal(z, y, x) || is_metal(z, y, x - 1) || is_metal(z, y, x + 1) ||
                          is_metal(z, y - 1, x) || is_metal(z, y + 1, x) || is_metal(z - 1, y, x) ||
                          is_metal(z + 1, y, x);
        float& value = volume(z, y, x);
        value = kept ? static_cast<float>(ops::AttenuationOf(scale, value)) : 0.f;
      }
    }
  }
}

absl::StatusOr<std::unique_ptr<MetalLight>> MetalLight::Create(const SecondPassPlan& plan,
                                                               ops::Device& device) {
  std::unique_ptr<MetalLight> self(new MetalLight(plan));
  const int64_t rays = Rays(plan.acquisition);
  ISO_ASSIGN_OR_RETURN(self->lines_, device.NewHostMemory(rays * int64_t{sizeof(float)}));
  ISO_ASSIGN_OR_RETURN(self->light_, device.NewHostMemory(rays));
  return self;
}

int64_t MetalLight::Bytes(const Acquisition& acquisition) {
  return Rays(acquisition) * static_cast<int64_t>(sizeof(float) + sizeof(uint8_t));
}

HostView3<float> MetalLight::Lines(int first_view, int views) {
  const Detector& detector = plan_.acquisition.detector;
  const int64_t frame = int64_t{detector.rows} * detector.columns;
  return {reinterpret_cast<float*>(lines_->data()) + first_view * frame,
          {views, detector.rows, detector.columns}};
}

uint8_t* MetalLight::Light(int first_view) {
  const Detector& detector = plan_.acquisition.detector;
  return reinterpret_cast<uint8_t*>(light_->data()) +
         int64_t{first_view} * detector.rows * detector.columns;
}

void MetalLight::Keep(int first_view, HostView3<const float> measured) {
  const std::span<const float> lines = measured.span();
  std::ranges::copy(lines, Lines(first_view, static_cast<int>(measured.shape().slow)).data());
}

void MetalLight::Ask(int first_view, std::span<const ProjectionMatrix> matrices,
                     HostView3<const float> interpolated, HostView3<const float> paths) {
  const Shape3 shape = interpolated.shape();
  const HostView3<float> measured = Lines(first_view, static_cast<int>(shape.slow));
  const double least_path =
      std::min({plan_.grid.spacing.x, plan_.grid.spacing.y, plan_.grid.spacing.z}) / 2;
  for (int64_t view = 0; view < shape.slow; ++view) {
    const auto [from, to] = RowsWithin(plan_.grid, matrices[view]);
    for (int64_t v = 0; v < shape.middle; ++v) {
      if (v < from || v > to) continue;
      for (int64_t u = 0; u < shape.fast; ++u) {
        const double p = measured(view, v, u), q = interpolated(view, v, u);
        if (p == q) continue;
        const double path = paths(view, v, u);
        if (path > least_path) {
          light_sum_ += LightOf(p);
          ++rays_;
        }
        if (p > kDarkLine) continue;
        const Terms terms = TermsOf(p - q, q);
        for (int i = 0; i < kTerms; ++i) {
          for (int j = 0; j < kTerms; ++j) matrix_[i * kTerms + j] += terms[i] * terms[j];
          right_[i] += terms[i] * path;
        }
      }
    }
  }
}

bool MetalLight::Fit() {
  if (!(light_sum_ > kLeastLight * rays_)) return false;
  const std::vector<double> fit = calibrate::Solve(matrix_, right_, kDamping);
  // In proportion to metal's path it is to be as near to what was measured as can be.
  double along = 0, square = 0;
  for (int i = 0; i < kTerms; ++i) {
    along += fit[i] * matrix_[i * kTerms];
    for (int j = 0; j < kTerms; ++j) square += fit[i] * fit[j] * matrix_[i * kTerms + j];
  }
  if (!(along > 0) || !(square > 0)) return false;
  per_mm_ = along / square;
  for (int i = 0; i < kTerms; ++i) coefficient_[i] = per_mm_ * fit[i];
  return true;
}

void MetalLight::MakeMetal(int first_view, HostView3<const float> interpolated,
                           HostView3<const float> paths) {
  const std::span<float> lines =
      Lines(first_view, static_cast<int>(interpolated.shape().slow)).span();
  uint8_t* const light = Light(first_view);
  const float* const without = interpolated.data();
  for (size_t i = 0; i < lines.size(); ++i) {
    const double p = lines[i], q = without[i];
    const double share = p == q ? 0 : std::round(kFullLight * LightOf(p)) / kFullLight;
    light[i] = static_cast<uint8_t>(std::lround(kFullLight * share));
    if (p == q) {
      lines[i] = 0;
      continue;
    }
    double seen = 0;
    const Terms terms = TermsOf(p - q, q);
    for (int k = 0; k < kTerms; ++k) seen += coefficient_[k] * terms[k];
    lines[i] = static_cast<float>(share * seen + (1 - share) * per_mm_ * paths.data()[i]);
  }
}

void MetalLight::AddRest(int first_view, HostView3<const float> interpolated,
                         HostView3<const float> explained) {
  const std::span<float> lines =
      Lines(first_view, static_cast<int>(interpolated.shape().slow)).span();
  const uint8_t* const light = Light(first_view);
  for (size_t i = 0; i < lines.size(); ++i) {
    const float rest = light[i] / kFullLight * (lines[i] - explained.data()[i]);
    lines[i] = interpolated.data()[i] + rest;
  }
}

}  // namespace isocenter::recon
