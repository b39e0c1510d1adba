#include "tests/bench/quality_bench.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/imaging/contact_sheet.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"

namespace isocenter::bench {
namespace {

class Table {
 public:
  Table() {
    std::printf("%-10s %6s %10s %10s %8s %10s %7s %9s\n", "", "passes", "RMSE HU", "whole head",
                "edge mm", "FDK's RMSE", "ratio", "residual");
  }
  void Add(const std::string& name, const std::vector<recon::IterationReport>& reports,
           const quality::Figures& figures, double fdk) {
    std::printf("%-10s %6zu %10.2f %10.2f %8.3f %10.2f %7.3f %9.5f\n", name.c_str(), reports.size(),
                figures.rmse, figures.rmse_head, figures.edge_mm, fdk, figures.rmse / fdk,
                reports.empty() ? 0 : reports.back().relative_residual);
    std::fflush(stdout);
  }
};

absl::StatusOr<std::vector<quality::Candidate>> Chosen(const QualityOptions& options) {
  std::vector<quality::Candidate> chosen;
  for (quality::Candidate candidate : quality::Candidates()) {
    recon::IterativeSettings& settings = candidate.settings;
    const std::string name(recon::AlgorithmName(settings.algorithm));
    const auto& wanted = options.algorithms;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    if (options.iterations) settings.iterations = *options.iterations;
    if (options.early_passes) settings.early_passes = *options.early_passes;
    if (options.subsets) settings.subsets = *options.subsets;
    if (options.tv_steps) settings.tv_steps = *options.tv_steps;
    if (options.relaxation) settings.relaxation = *options.relaxation;
    if (options.momentum) settings.momentum = *options.momentum;
    if (options.prior_strength) settings.prior_strength = *options.prior_strength;
    if (options.huber_delta_per_mm) settings.huber_delta_per_mm = *options.huber_delta_per_mm;
    if (options.fdk_cutoff) candidate.fdk_cutoff = *options.fdk_cutoff;
    if (options.cold) settings.warm_start = false;
    if (options.projector) {
      ISO_ASSIGN_OR_RETURN(settings.projector, ops::ProjectorNamed(*options.projector));
    }
    chosen.push_back(std::move(candidate));
  }
  return chosen;
}

}  // namespace

absl::Status RunQuality(const QualityOptions& options) {
  ISO_ASSIGN_OR_RETURN(const auto device,
                       Backends().OpenDevice(options.backend, {.threads = options.threads}));
  ISO_ASSIGN_OR_RETURN(const std::vector<quality::Candidate> candidates, Chosen(options));
  ThreadPool pool(UsableCores());
  ISO_ASSIGN_OR_RETURN(const quality::Scan scan, quality::MakeScan(options.scan, pool));
  const quality::Judge judge(scan);
  ISO_ASSIGN_OR_RETURN(const auto curve, quality::FdkCurve::Make(scan, judge, Backends(), *device));
  std::printf("head, %zu views over %g degrees, %g photons, %d voxels per axis\n",
              scan.acquisition.trajectory.size(), options.scan.arc_deg, options.scan.photons,
              options.scan.size);
  Table table;
  for (const quality::Figures& figures : curve.figures()) {
    table.Add("FDK", {}, figures, figures.rmse);
  }
  std::vector<std::pair<std::string, formats::Volume>> images;
  images.emplace_back("TRUTH", formats::Volume{scan.grid, scan.truth});
  ISO_ASSIGN_OR_RETURN(std::vector<float> fdk,
                       quality::Fdk(scan, ops::FilterWindow::kHann, 0.7, Backends(), *device));
  images.emplace_back("FDK", formats::Volume{scan.grid, std::move(fdk)});
  for (const quality::Candidate& candidate : candidates) {
    std::vector<recon::IterationReport> reports;
    ISO_ASSIGN_OR_RETURN(std::vector<float> volume,
                         quality::Refine(scan, candidate, Backends(), *device, &reports));
    if (options.passes) {
      for (const recon::IterationReport& report : reports) {
        std::printf("  pass %3d residual %.6f objective %.6g, %.2f s\n", report.iteration,
                    report.relative_residual, report.objective.value_or(0), report.seconds);
      }
    }
    const quality::Figures figures = judge.Measure(volume);
    table.Add(candidate.name, reports, figures, curve.RmseAt(figures.edge_mm));
    images.emplace_back(candidate.name, formats::Volume{scan.grid, std::move(volume)});
  }
  if (options.sheet.empty()) return absl::OkStatus();
  std::vector<imaging::SheetRow> rows;
  for (const auto& [name, volume] : images) {
    rows.push_back({.label = name, .volume = &volume, .window = {.center = 40, .width = 300}});
  }
  return formats::WritePng(options.sheet,
                           imaging::RenderSheet(rows, imaging::MiddleSlices(scan.grid)));
}

}  // namespace isocenter::bench
