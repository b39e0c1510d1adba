// Cupping of a measured scan, before and after beam hardening is calibrated on it, or on the
// homogeneous part of another one: solid_disc, acrylic of 69.8 mm, and ta, the same with holes.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/water/water_fit.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/recon/fan_beam.h"
#include "tests/accuracy/htc2022.h"

namespace isocenter {
namespace {

using htc2022::Geometry;
using htc2022::Grid;
using htc2022::kChannels;
using htc2022::kPixelMm;
using htc2022::kPixels;
using htc2022::kViews;
using htc2022::LineIntegrals;

constexpr double kDiameterMm = 69.8;
// The light of a hole's shadow reaches its neighbours: rays so near to one are left out.
constexpr int kMarginChannels = 20;
constexpr double kMuAcrylic = 0.02;  // any: profiles are relative

// Attenuation, [y][x].
std::vector<double> Reconstruct(const std::vector<float>& lines) {
  const auto device = *Backends().OpenDevice("cpu", {});
  std::vector<float> hounsfield(Grid().voxels());
  const absl::Status status = recon::ReconstructFanBeam(
      Geometry(), Grid(), {.mu_water_per_mm = kMuAcrylic}, Backends(), *device,
      [&](int64_t, HostView3<float> into) {
        for (int view = 0; view < kViews; ++view) {
          std::copy_n(lines.begin() + int64_t{view} * kChannels, kChannels, into.row(view, 0));
        }
        return absl::OkStatus();
      },
      {hounsfield.data(), Grid().shape()});
  EXPECT_TRUE(status.ok()) << status;
  std::vector<double> attenuation;
  for (const float hu : hounsfield) attenuation.push_back((1 + hu / 1000.0) * kMuAcrylic);
  return attenuation;
}

calibrate::MeasuredRay RayOf(int view, int channel, float line_integral) {
  const FanBeamGeometry g = Geometry();
  const double beta = g.Angle(view), s = std::sin(beta), c = std::cos(beta);
  const double u = (channel - g.central_channel) * g.channel_pitch_mm;
  const Vec3 along{u * c + g.source_to_detector_mm * s, u * s - g.source_to_detector_mm * c, 0};
  return {.source = {-g.source_to_axis_mm * s, g.source_to_axis_mm * c, 0},
          .direction = (1 / Norm(along)) * along,
          .transmission = std::exp(-static_cast<double>(line_integral)),
          .view = view};
}

std::vector<calibrate::MeasuredRay> AllRays(const std::vector<float>& lines) {
  std::vector<calibrate::MeasuredRay> rays;
  for (int i = 0; i < kViews * kChannels; ++i) {
    rays.push_back(RayOf(i / kChannels, i % kChannels, lines[i]));
  }
  return rays;
}

// Whether a ray leaves the acrylic and comes back: more than half a millimetre of what is brighter
// than half of the disc between two parts that are not.
bool CrossesAHole(const calibrate::MeasuredRay& ray, const std::vector<double>& attenuation,
                  double threshold, double radius_mm) {
  const double middle = -Dot(ray.source, ray.direction);
  double gap = 0;
  bool inside = false, crossed = false;
  for (double t = middle - radius_mm; t < middle + radius_mm; t += kPixelMm) {
    const Vec3 p = ray.source + t * ray.direction;
    if (std::hypot(p.x, p.y) > radius_mm) continue;
    const auto index = [](double at) {
      return static_cast<int64_t>(std::lround(at / kPixelMm + (kPixels - 1) / 2.0));
    };
    if (attenuation[index(p.y) * kPixels + index(p.x)] < threshold) {
      gap += kPixelMm;
      continue;
    }
    crossed = crossed || (inside && gap > 0.5);
    inside = true;
    gap = 0;
  }
  return crossed;
}

// Rays of a disc with holes that cross none and pass none nearby.
std::vector<calibrate::MeasuredRay> HomogeneousRays(const std::vector<float>& lines) {
  const std::vector<double> attenuation = Reconstruct(lines);
  std::vector<double> sorted = attenuation;
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  const double threshold = sorted[sorted.size() / 2] / 2;
  const double radius = kPixels * kPixelMm / 2 - 1;  // holds the disc, within the grid
  std::vector<calibrate::MeasuredRay> rays = AllRays(lines), homogeneous;
  std::vector<bool> hole;
  for (const auto& ray : rays) {
    hole.push_back(CrossesAHole(ray, attenuation, threshold, radius));
  }
  for (int i = 0; i < kViews * kChannels; ++i) {
    const int channel = i % kChannels;
    const int first = i - std::min(channel, kMarginChannels);
    const int last = i + std::min(kChannels - 1 - channel, kMarginChannels);
    if (std::none_of(hole.begin() + first, hole.begin() + last + 1, [](bool h) { return h; })) {
      homogeneous.push_back(rays[i]);
    }
  }
  return homogeneous;
}

// The disc whose tangents are the outermost rays of each view that lose a tenth: at the signed
// distance of its radius from its centre, least squares. calibrate::FitCylinder, which looks for
// the diameter by how well a polynomial of four coefficients explains the chords, finds 72.6 mm:
// this beam (45 kV, 0.5 mm of aluminium) hardens too fast for it.
calibrate::Cylinder DiscOf(const std::vector<float>& lines) {
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  for (int view = 0; view < kViews; ++view) {
    const auto seen = [&](int channel) { return lines[view * kChannels + channel] > 0.1f; };
    int edge[2] = {0, kChannels - 1};
    while (!seen(edge[0])) ++edge[0];
    while (!seen(edge[1])) --edge[1];
    for (const int side : {0, 1}) {
      const auto ray = RayOf(view, edge[side], 0);
      const Eigen::Vector3d row(-ray.direction.y, ray.direction.x, side == 0 ? 1 : -1);
      sum += row * row.transpose();
      right += row * (row[0] * ray.source.x + row[1] * ray.source.y);
    }
  }
  const Eigen::Vector3d disc = sum.ldlt().solve(right);
  EXPECT_NEAR(2 * std::abs(disc[2]), kDiameterMm, 2 * Geometry().ChannelAtAxisMm());
  return {.diameter_mm = kDiameterMm, .x_mm = disc[0], .y_mm = disc[1]};
}

std::vector<float> Linearized(std::vector<float> lines, const ops::WaterPolynomial& polynomial) {
  for (float& line : lines) {
    double value = 0;
    for (size_t n = polynomial.coefficient.size(); n > 0; --n) {
      value = (value + polynomial.coefficient[n - 1]) * line;
    }
    line = static_cast<float>(value);
  }
  return lines;
}

// How much less the disc's centre attenuates than its ring at nine tenths of the radius, percent.
double Cupping(const char* what, const std::vector<float>& lines, const calibrate::Cylinder& disc) {
  const std::vector<double> attenuation = Reconstruct(lines);
  double sum[2] = {};
  int64_t pixels[2] = {};
  for (int64_t i = 0; i < Grid().voxels(); ++i) {
    const Vec3 p =
        Grid().VoxelToWorld(static_cast<double>(i % kPixels), static_cast<double>(i / kPixels), 0);
    const double r = std::hypot(p.x - disc.x_mm, p.y - disc.y_mm) / (kDiameterMm / 2);
    if (r > 0.15 && std::abs(r - 0.9) > 0.03) continue;
    sum[r > 0.15] += attenuation[i];
    ++pixels[r > 0.15];
  }
  const double in_center = sum[0] / static_cast<double>(pixels[0]);
  const double at_edge = sum[1] / static_cast<double>(pixels[1]);
  const double cupping = 100 * (1 - in_center / at_edge);
  std::printf(
      "%s: %.4f /mm in the centre, %.4f /mm at nine tenths of the radius: cupping %.2f %%\n", what,
      in_center, at_edge, cupping);
  return cupping;
}

class MeasuredCupping : public ::testing::Test {
 protected:
  void SetUp() override {
    lines_ = LineIntegrals("solid_disc");
    if (lines_.empty()) GTEST_SKIP() << "no measured scans in " << htc2022::Directory();
    disc_ = DiscOf(lines_);
  }

  // What is left once the polynomial of `scan` has been applied, percent.
  double CuppingAfter(const char* what, const calibrate::CylinderScan& scan) {
    const auto fit = calibrate::FitWater({scan});
    EXPECT_TRUE(fit.ok()) << fit.status();
    if (!fit.ok()) return 100;
    for (const calibrate::Figure& figure : fit->figures) {
      std::printf("  %s: %.4g %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
    }
    return Cupping(what, Linearized(lines_, fit->polynomial), disc_);
  }

  std::vector<float> lines_;
  calibrate::Cylinder disc_;
};

TEST_F(MeasuredCupping, OfADiscThatIsCalibratedOnItself) {
  EXPECT_GT(Cupping("solid_disc as measured", lines_, disc_), 20);
  EXPECT_LT(std::abs(CuppingAfter("calibrated on itself", {disc_, AllRays(lines_)})), 1);
}

TEST_F(MeasuredCupping, OfADiscThatIsCalibratedOnAnotherScan) {
  const std::vector<float> other = LineIntegrals("ta");
  ASSERT_FALSE(other.empty());
  const std::vector<calibrate::MeasuredRay> rays = HomogeneousRays(other);
  std::printf("ta: %zu of %d rays pass no hole\n", rays.size(), kViews * kChannels);
  EXPECT_LT(std::abs(CuppingAfter("calibrated on ta", {DiscOf(other), rays})), 3);
}

}  // namespace
}  // namespace isocenter
