#include <gtest/gtest.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"
#include "tests/accuracy/moved_detector.h"
namespace isocenter::moved_detector {
namespace {
std::vector<float> Fdk(const std::vector<float>& frames, const VolumeGrid& grid) {
  const recon::Acquisition scan{.detector = kDetector, .pixel_type = recon::PixelType::kFloat32LineIntegrals, .trajectory = Nominal()};
  const auto device = *Backends().OpenDevice("cpu", {});
  const ops::Device* const devices[] = {device.get()};
  const auto plan = *recon::MakePlan(scan, grid, {.mu_water_per_mm = kMuWater}, Backends(), devices, recon::Arrival::kComplete);
  std::vector<float> v(grid.voxels());
  EXPECT_TRUE(recon::ReconstructAll(plan, Backends(), *device, {.line_integrals = {frames.data(), kShape}}, {v.data(), grid.shape()}).ok());
  return v;
}
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
TEST(Reference, Experiment) {
  const char* object = std::getenv("OBJ") ? std::getenv("OBJ") : "head";
  const char* prior = std::getenv("PRIOR") ? std::getenv("PRIOR") : object;
  const int seed = std::getenv("SEED") ? atoi(std::getenv("SEED")) : 21;
  const double scale = std::getenv("SCALE") ? atof(std::getenv("SCALE")) : 100;
  const int spans = std::getenv("SPANS") ? atoi(std::getenv("SPANS")) : 8;
  const auto grid = CenteredGrid(200, 200, 160, {1.1, 1.1, 1.1});
  // earlier scan: patient elsewhere
  const std::vector<double> six{6, -9, 5, -4, 3, 8};
  Trajectory earlier = Nominal();
  for (auto& m : earlier) m = recon::InPose(m, six);
  double t = Now();
  const auto inv = recon::ParametersOf(PoseOf(Inverse(TransformOf(recon::PoseFrom(six)))));
  std::printf("true place %.3f %.3f %.3f | %.3f %.3f %.3f\n", inv[0], inv[1], inv[2], inv[3], inv[4], inv[5]);
  const auto hu = Fdk(FramesOf(*phantom::MakePhantom(prior, scale, kMuWater).value(), earlier, 11), grid);
  if (std::getenv("EXACT")) {
    const auto ph = *phantom::MakePhantom(prior, scale, kMuWater);
    const auto tf = Inverse(TransformOf(recon::PoseFrom(six)));
    size_t n = 0;
    for (int k = 0; k < grid.nz; ++k) for (int j = 0; j < grid.ny; ++j) for (int i = 0; i < grid.nx; ++i) {
      double sum = 0;
      for (int c = 0; c < 8; ++c) sum += ph->Attenuation(tf(grid.VoxelToWorld(i + (c & 1) * .5 - .25, j + (c / 2 & 1) * .5 - .25, k + (c / 4) * .5 - .25)));
      const_cast<float&>(hu[n++]) = static_cast<float>(1000 * (sum / 8 / kMuWater - 1));
    }
  }
  std::printf("prior %.1f s\n", Now() - t); t = Now();
  const Trajectory truth = seed == 0 ? Nominal() : With(Wobble(seed));
  const auto frames = FramesOf(*phantom::MakePhantom(object, 100, kMuWater).value(), truth);
  std::printf("frames %.1f s\n", Now() - t); t = Now();
  const recon::Acquisition scan{.detector = kDetector, .pixel_type = recon::PixelType::kFloat32LineIntegrals, .trajectory = Nominal()};
  const auto reference = *recon::MakeReference(grid, {hu.data(), grid.shape()}, kMuWater, 0.7);
  const recon::BinnedLines lines{.shape = kShape, .lines = frames};
  const auto device = *Backends().OpenDevice("cpu", {});
  ThreadPool threads(2);
  const recon::ReferenceScan rs{scan, lines, reference, kMuWater, Backends(), *device, threads};
  const auto place = *recon::FindPatient(rs, [] { return absl::OkStatus(); });
  std::printf("place %.2f %.2f %.2f | %.2f %.2f %.2f  similarity %.4f; %.1f s\n", place.six[0], place.six[1], place.six[2], place.six[3], place.six[4], place.six[5], place.similarity, Now() - t); t = Now();
  const auto moves = *recon::FindReferenceMoves(rs, place, std::vector<recon::DetectorMove>(kViews), spans, [] { return absl::OkStatus(); });
  Trajectory corrected = Nominal();
  double rms = 0;
  for (int v = 0; v < kViews; ++v) { corrected[v] = recon::Moved(corrected[v], kDetector, moves.moves[v]); rms += std::pow(moves.moves[v].u_mm,2)+std::pow(moves.moves[v].v_mm,2); }
  std::printf("covered %.3f similarity %.4f -> %.4f roll %.4f deg rms %.3f mm; %.1f s\n", moves.covered, moves.similarity_before, moves.similarity_after, RadiansToDegrees(moves.moves[0].roll_rad), std::sqrt(rms/kViews), Now() - t);
  const auto& p = moves.patient.six;
  std::printf("place %.3f %.3f %.3f | %.3f %.3f %.3f\n", p[0], p[1], p[2], p[3], p[4], p[5]);
  const double wt = WireWidth(truth, truth), w = WireWidth(truth, corrected), w0 = WireWidth(truth, Nominal());
  std::printf("apart %.4f before %.4f wire %.4f before %.4f true %.4f (%.1f %%)\n", Apart(corrected, truth), Apart(Nominal(), truth), w, w0, wt, 100 * (w / wt - 1));
}
}
}
