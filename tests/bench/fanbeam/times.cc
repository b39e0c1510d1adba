#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/scan.h"
#include "tests/bench/summary.h"

namespace isocenter::bench {
namespace {

constexpr char kCpu[] = "cpu";
constexpr char kBaseline[] = "plain";

std::vector<int> ThreadsOf(const FanBeamOptions& options) {
  if (!options.threads.empty()) return options.threads;
  std::vector<int> threads;
  for (int n = 1; n < UsableCores(); n *= 2) threads.push_back(n);
  threads.push_back(UsableCores());
  return threads;
}

// Medians, after a run that is not counted.
absl::StatusOr<FanBeamSeconds> Measure(FanBeamForm& form, const std::vector<float>& lines,
                                       int repeats) {
  std::vector<double> filter, backproject;
  for (int i = 0; i <= repeats; ++i) {
    FanBeamSeconds seconds;
    ISO_RETURN_IF_ERROR(form.Reconstruct(lines, &seconds).status());
    if (i == 0) continue;
    filter.push_back(seconds.filter);
    backproject.push_back(seconds.backproject);
  }
  return FanBeamSeconds{Summarize(filter).median, Summarize(backproject).median};
}

struct Measured {
  std::string name;
  int threads;
  FanBeamSeconds seconds;
};

absl::Status WriteThreads(const FanBeamOptions& options, const std::vector<Measured>& all) {
  for (const Measured& first : all) {
    if (first.threads != 1) continue;
    std::vector<imaging::CurvePoint> points;
    for (const Measured& one : all) {
      if (one.name == first.name)
        points.push_back({static_cast<double>(one.threads), one.seconds.total()});
    }
    std::string file = absl::StrCat("threads_", first.name);
    std::ranges::replace(file, ' ', '_');
    ISO_RETURN_IF_ERROR(WriteCurve(options.out, file,
                                   {.title = absl::StrCat("seconds, ", first.name),
                                    .x_label = "threads",
                                    .logarithmic = true,
                                    .logarithmic_x = true},
                                   points));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunFanBeamTimes(const FanBeamOptions& options,
                             const std::vector<FanBeamMethods>& methods) {
  ThreadPool pool(UsableCores());
  const ops::FanBeamFilterSpec spec{.geometry = PaperGeometry(options.views, 1)};
  const std::vector<float> lines = CleanScan(spec.geometry, pool);
  std::vector<Measured> all;
  for (const FanBeamMethods& method : methods) {
    const bool cpu = method.backend == kCpu;
    for (const int threads : cpu ? ThreadsOf(options) : std::vector<int>{0}) {
      ISO_ASSIGN_OR_RETURN(FanBeamForm form,
                           FanBeamForm::Create(method.backend, method.filter, method.backproject,
                                               threads, spec, PaperGrid(options.size)));
      ISO_ASSIGN_OR_RETURN(const FanBeamSeconds seconds, Measure(form, lines, options.repeats));
      all.push_back({form.name(), threads, seconds});
    }
  }
  const auto baseline = std::ranges::find_if(all, [](const Measured& one) {
    return one.name == absl::StrCat(kCpu, " ", kBaseline) && one.threads == 1;
  });
  const double updates = double(options.size) * options.size * options.views;
  FigureTable table(
      {"form", "threads", "filter s", "back-projection s", "total s", "GUPS", "speed-up"});
  for (const Measured& one : all) {
    table.Add({one.name, one.threads == 0 ? "-" : absl::StrCat(one.threads),
               absl::StrFormat("%.4f", one.seconds.filter),
               absl::StrFormat("%.4f", one.seconds.backproject),
               absl::StrFormat("%.4f", one.seconds.total()),
               absl::StrFormat("%.2f", updates / one.seconds.backproject * 1e-9),
               baseline == all.end()
                   ? "-"
                   : absl::StrFormat("%.2f", baseline->seconds.total() / one.seconds.total())});
  }
  table.Print("Seconds (the paper: 89.94 on one thread of a Xeon X5660, 0.19 on a Quadro 4000)");
  ISO_RETURN_IF_ERROR(table.Write(options.out, "times"));
  return options.out.empty() ? absl::OkStatus() : WriteThreads(options, all);
}

}  // namespace isocenter::bench
