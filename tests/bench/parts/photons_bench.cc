// Photons of simulated scatter per second: a head, a tube of 120 kV, `isocenter simulate`'s panel.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"
#include "kernels/photon_engines.h"
#include "kernels/physics/tungsten.h"

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace isocenter;
  using namespace isocenter::physics;
  CLI::App app("Photons of simulated scatter per second");
  std::string backend = "cpu", phantom = "head";
  int threads = UsableCores(), repeats = 3, columns = 32, rows = 24;
  double photons = 1e6;
  app.add_option("--backend", backend)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--phantom", phantom);
  app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
  app.add_option("--repeats", repeats)->check(CLI::Range(1, 1000));
  app.add_option("--photons", photons)->check(CLI::Range(1000.0, 1e9));
  app.add_option("--columns", columns)->check(CLI::Range(2, 256));
  app.add_option("--rows", rows)->check(CLI::Range(2, 256));
  CLI11_PARSE(app, argc, argv);

  constexpr double kMu = 0.02;
  const Detector detector{.columns = 620, .rows = 480, .pitch_u_mm = 0.616, .pitch_v_mm = 0.616};
  ThreadPool pool(threads);
  const auto object = phantom::MakePhantom(phantom, 100, kMu);
  if (!object.ok()) {
    std::fprintf(stderr, "%s\n", object.status().ToString().c_str());
    return 1;
  }
  const auto simulation =
      ScatterSimulation::Make(TungstenSpectrum({.kv = 120}).value(), 0.6, TissueMaterials(),
                              ScatterVolume(**object, kMu, TissueMap(60, true), pool), pool);
  const auto orbit = MakeCircularOrbit(
      {.views = repeats + 1, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200},
      detector);
  double begin = Now();
  std::unique_ptr<PhotonEngine> engine;
  if (backend != "cpu") {
    auto opened = OpenPhotonEngine(backend, {}, *simulation);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s\n", opened.status().ToString().c_str());
      return 1;
    }
    engine = *std::move(opened);
    std::printf("%s, opened in %.3f s\n", engine->description().c_str(), Now() - begin);
  }
  std::vector<double> seconds;
  for (int view = 0; view <= repeats; ++view) {  // the first one warms up
    const ScatterSimulation::Settings settings{.photons = static_cast<int64_t>(photons),
                                               .columns = columns,
                                               .rows = rows,
                                               .view = static_cast<uint64_t>(view)};
    begin = Now();
    const auto image = engine ? simulation->View((*orbit)[view], detector, settings, *engine)
                              : simulation->View((*orbit)[view], detector, settings, pool);
    if (!image.ok()) {
      std::fprintf(stderr, "%s\n", image.status().ToString().c_str());
      return 1;
    }
    if (view > 0) seconds.push_back(Now() - begin);
    if (view == repeats) {
      std::printf("unscattered %.4f, absorbed %.4f, error of a cell %.5f\n",
                  static_cast<double>(image->fates.unscattered) / photons,
                  static_cast<double>(image->fates.absorbed) / photons, image->relative_error);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf(
      "%s %s %d threads, %.3g photons, %dx%d cells: %.4f s (%.4f to %.4f), %.3g photons/s\n",
      phantom.c_str(), backend.c_str(), threads, photons, columns, rows,
      seconds[seconds.size() / 2], seconds.front(), seconds.back(),
      photons / seconds[seconds.size() / 2]);
  return 0;
}
