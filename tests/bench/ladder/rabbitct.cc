#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/rabbitct/benchmark_run.h"
#include "kernels/recon/trace.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/ladder/bench.h"
#include "tests/bench/ladder/errors.h"
#include "tests/bench/ladder/filtered_scan.h"
#include "tests/bench/machine.h"
#include "tests/bench/write_file.h"

namespace isocenter::bench {
namespace {

using rabbitct::BenchmarkRun;
using rabbitct::Problem;

constexpr char kCopied[] = "copied", kStreamed[] = "streamed";

struct Clock {
  double calls = 0, finish = 0;  // seconds
};

Problem ProblemOf(const RabbitCtOptions& options, const FilteredScan& scan, int size,
                  const std::string& backend, const std::string& method, const std::string& form) {
  const VolumeGrid cube = BenchmarkCube(size);
  return {.voxels_per_edge = static_cast<unsigned>(size),
          .columns = static_cast<unsigned>(scan.shape.fast),
          .rows = static_cast<unsigned>(scan.shape.middle),
          .voxel_mm = cube.spacing.x,
          .first_voxel_mm = cube.origin.x,
          .backend = backend,
          .method = method,
          .images_at_once = static_cast<unsigned>(options.images_at_once),
          .methods = &AllMethods(),
          .device_memory_bytes = options.device_memory_bytes,
          .streamed = form == kStreamed};
}

// A runner's reading of files, which its clock leaves out.
struct Pause {
  double begin, end;  // of ops::SteadySeconds
};

// One benchmark, in which the module's calls are the only ones that take time.
class Runner {
 public:
  static absl::StatusOr<Runner> Create(const Problem& problem, bool runner_buffers) {
    Runner self;
    ISO_ASSIGN_OR_RETURN(self.run_, BenchmarkRun::Create(problem));
    if (!runner_buffers) self.buffers_ = self.run_->image_buffers();
    self.at_once_ = static_cast<int64_t>(problem.images_at_once);
    return self;
  }

  // The volume lies in the run's memory.
  absl::StatusOr<std::span<const float>> Run(const FilteredScan& scan) {
    const auto views = static_cast<int64_t>(scan.matrices.size());
    for (int64_t first = 0; first < views; first += at_once_) {
      const int64_t count = std::min(at_once_, views - first);
      Read(scan, first, count);
      for (int64_t i = 0; i < count; ++i) {
        const auto image = scan.view(first + i, 1).span();
        ISO_RETURN_IF_ERROR(
            Call(scan.matrices[static_cast<size_t>(first + i)],
                 buffers_.empty() ? image : std::span<const float>(buffers_[i], image.size())));
      }
    }
    // What is after the last call is not the benchmark's.
    ISO_ASSIGN_OR_RETURN(const std::span<float> result, run_->Result());
    const double start = ops::SteadySeconds();
    ISO_RETURN_IF_ERROR(run_->Finish(result));
    clock_.finish = ops::SteadySeconds() - start;
    return result;
  }

  const Clock& clock() const { return clock_; }
  const std::string& description() const { return run_->description(); }

  // What the device did when, pauses cut out.
  absl::StatusOr<std::vector<recon::DeviceSpan>> TakeTrace() {
    ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, run_->TakeTrace());
    std::vector<recon::DeviceSpan> trace;
    for (ops::Span span : spans) {
      double before = 0;
      for (const Pause& pause : pauses_) {
        if (pause.end <= span.begin) before += pause.end - pause.begin;
      }
      span.begin -= before;
      span.end -= before;
      trace.push_back({0, span});
    }
    return trace;
  }

 private:
  Runner() = default;

  void Read(const FilteredScan& scan, int64_t first, int64_t count) {
    const double begin = ops::SteadySeconds();
    if (!buffers_.empty()) {
      pool_->ParallelFor(count, [&](int64_t i, int) {
        std::ranges::copy(scan.view(first + i, 1).span(), buffers_[static_cast<size_t>(i)]);
      });
    }
    pauses_.push_back({begin, ops::SteadySeconds()});
  }

  absl::Status Call(const ProjectionMatrix& matrix, std::span<const float> image) {
    std::array<double, 12> columns;  // the format's order
    for (int i = 0; i < 12; ++i) columns[i % 4 * 3 + i / 4] = matrix.m[i];
    const double start = ops::SteadySeconds();
    ISO_RETURN_IF_ERROR(run_->Add(columns, image));
    clock_.calls += ops::SteadySeconds() - start;
    return absl::OkStatus();
  }

  std::unique_ptr<BenchmarkRun> run_;
  std::unique_ptr<ThreadPool> pool_ = std::make_unique<ThreadPool>(UsableCores());
  std::span<float*> buffers_;
  int64_t at_once_ = 1;
  Clock clock_;
  std::vector<Pause> pauses_;
};

absl::StatusOr<std::vector<std::string>> MethodsOf(const RabbitCtOptions& options) {
  const auto& table = AllMethods().backproject;
  if (!options.methods.empty()) {
    for (const std::string& method : options.methods) {
      ISO_RETURN_IF_ERROR(table.Find(options.backend, method).status());
    }
    return options.methods;
  }
  std::vector<std::string> methods;
  for (const auto& entry : table.List()) {
    if (entry.backend == options.backend) methods.push_back(entry.method);
  }
  return methods;
}

absl::StatusOr<std::vector<float>> MakeTruth(const RabbitCtOptions& options,
                                             const FilteredScan& scan, int size) {
  const Problem problem = ProblemOf(options, scan, size, "cpu", "", "");
  ISO_ASSIGN_OR_RETURN(Runner runner, Runner::Create(problem, true));
  ISO_ASSIGN_OR_RETURN(const std::span<const float> volume, runner.Run(scan));
  return std::vector<float>(volume.begin(), volume.end());
}

// Of the last run of a row.
absl::Status Tell(const RabbitCtOptions& options, const std::string& form, Runner& runner) {
  if (form == kStreamed) std::printf("%s\n", runner.description().c_str());
  if (options.trace.empty()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::vector<recon::DeviceSpan> trace, runner.TakeTrace());
  return WriteFile(options.trace, recon::ChromeTrace(trace, runner.description()));
}

struct Row {
  std::string method, form;
  Clock clock;
  double least = 0, most = 0;  // seconds of calls
  VolumeError error;
};

absl::StatusOr<Row> MeasureRow(const RabbitCtOptions& options, const FilteredScan& scan, int size,
                               const std::string& method, const std::string& form,
                               const std::vector<float>& truth) {
  const Problem problem = ProblemOf(options, scan, size, options.backend, method, form);
  Row row{.method = method, .form = form};
  std::vector<Clock> clocks;
  for (int i = 0; i <= options.repeats; ++i) {
    ISO_ASSIGN_OR_RETURN(Runner runner, Runner::Create(problem, form == kCopied));
    ISO_ASSIGN_OR_RETURN(const std::span<const float> volume, runner.Run(scan));
    if (i > 0) clocks.push_back(runner.clock());  // the first one loads kernels
    if (i < options.repeats) continue;
    ISO_RETURN_IF_ERROR(Tell(options, form, runner));
    row.error = ErrorOf(volume, truth, scan.hu_per_attenuation);
  }
  std::ranges::sort(clocks, {}, &Clock::calls);
  row.clock = clocks[clocks.size() / 2];
  row.least = clocks.front().calls;
  row.most = clocks.back().calls;
  return row;
}

absl::StatusOr<std::vector<Row>> MeasureSize(const RabbitCtOptions& options,
                                             const FilteredScan& scan, int size,
                                             const std::vector<std::string>& methods) {
  ISO_ASSIGN_OR_RETURN(const std::vector<float> truth, MakeTruth(options, scan, size));
  std::vector<Row> rows;
  for (const std::string& method : methods) {
    for (const std::string& form : options.forms) {
      ISO_ASSIGN_OR_RETURN(Row row, MeasureRow(options, scan, size, method, form, truth));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

absl::Status RunRabbitCt(const RabbitCtOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const auto device, AllMethods().OpenDevice(options.backend, {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> methods, MethodsOf(options));
  ISO_ASSIGN_OR_RETURN(const FilteredScan scan, MakeFilteredScan(options.views, options.binning));
  std::printf("%s, commit %s\n", device->description().c_str(), Commit().c_str());
  std::printf("%d projections of %dx%d, %d at once; medians of %d runs\n", options.views,
              static_cast<int>(scan.shape.fast), static_cast<int>(scan.shape.middle),
              options.images_at_once, options.repeats);
  FigureTable table({"volume", "method", "images", "runner's clock s", "range", "finish s", "GUPS",
                     "rmse HU", "largest HU", "other integers"});
  for (const int size : options.sizes) {
    ISO_ASSIGN_OR_RETURN(const std::vector<Row> rows, MeasureSize(options, scan, size, methods));
    const double updates = static_cast<double>(BenchmarkCube(size).voxels()) * options.views;
    for (const Row& row : rows) {
      table.Add({absl::StrCat(size, "^3"), row.method, row.form,
                 absl::StrFormat("%.4f", row.clock.calls),
                 absl::StrFormat("%.4f-%.4f", row.least, row.most),
                 absl::StrFormat("%.4f", row.clock.finish),
                 absl::StrFormat("%.1f", updates / row.clock.calls * 1e-9),
                 absl::StrFormat("%.2e", std::sqrt(row.error.mean_square_hu)),
                 absl::StrFormat("%.2e", row.error.largest_hu),
                 absl::StrFormat("%.2e", row.error.other_integers)});
    }
  }
  table.Print(
      "The runner's clock counts the calls, not what comes after the last (finish: the "
      "download). Errors against float32 on the CPU; paper: 0.99 s, 6.04 s, 0.021 HU");
  return table.Write(options.out, "rabbitct");
}

}  // namespace isocenter::bench
