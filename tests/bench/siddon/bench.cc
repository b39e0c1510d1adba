#include "tests/bench/siddon/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/trajectory.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/siddon/updates.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

constexpr char kCpu[] = "cpu", kReference[] = "reference";
constexpr char kBaseline[] = "jacobs";  // of the CPU: what others are compared with
constexpr double kEdgeMm = 256;

// The paper prints neither distances nor pixels; here the cone just covers the cube's middle slice.
struct Scene {
  Detector detector;
  Trajectory views;
  VolumeGrid grid;
  double updates;
  std::vector<float> volume, projections;  // what is read by one direction

  Shape3 stack() const {
    return {static_cast<int64_t>(views.size()), detector.rows, detector.columns};
  }
};

// Made of some of it, again and again.
std::vector<float> LongNoise(int64_t count) {
  const std::vector<float> some = Noise(std::min<int64_t>(count, int64_t{1} << 20));
  std::vector<float> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = some[i % some.size()];
  return all;
}

absl::StatusOr<Scene> MakeScene(const SiddonOptions& options) {
  constexpr double kSourceToAxis = 750, kSourceToDetector = 1200;
  const double pitch = kEdgeMm * kSourceToDetector / kSourceToAxis / options.pixels;
  Scene scene{.detector = {.columns = options.pixels,
                           .rows = options.pixels,
                           .pitch_u_mm = pitch,
                           .pitch_v_mm = pitch}};
  ISO_ASSIGN_OR_RETURN(scene.views, MakeCircularOrbit({.views = options.views,
                                                       .source_to_isocenter_mm = kSourceToAxis,
                                                       .source_to_detector_mm = kSourceToDetector,
                                                       .arc = 2 * std::numbers::pi *
                                                              (options.views - 1) / options.views},
                                                      scene.detector));
  const int n = options.voxels;
  scene.grid = CenteredGrid(n, n, n, {kEdgeMm / n, kEdgeMm / n, kEdgeMm / n});
  ThreadPool pool(UsableCores());
  scene.updates =
      static_cast<double>(CountSiddonUpdates(scene.views, scene.grid, scene.detector, pool));
  scene.volume = LongNoise(scene.grid.voxels());
  scene.projections = LongNoise(scene.stack().count());
  return scene;
}

enum class Direction { kForward, kBack };
absl::string_view NameOf(Direction direction) {
  return direction == Direction::kForward ? "forward" : "back";
}

struct Form {
  std::string backend, method;
  int threads;  // 0: not the CPU
  Direction direction;
};

struct Seconds {
  double upload = 0, kernel = 0, download = 0;
  double total() const { return upload + kernel + download; }
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A form with all that it needs, which uploads, computes and downloads.
class Runner {
 public:
  static absl::StatusOr<Runner> Create(const Form& form, const Scene& scene) {
    Runner runner(form, scene);
    ISO_ASSIGN_OR_RETURN(runner.session_,
                         OpenSession(AllMethods(), form.backend, {.threads = form.threads}));
    ops::Session& session = *runner.session_;
    const auto& methods = AllMethods().projectors.at(ops::ProjectorModel::kSiddon);
    if (form.direction == Direction::kForward) {
      ISO_ASSIGN_OR_RETURN(const auto factory, methods.forward.Find(form.backend, form.method));
      ISO_ASSIGN_OR_RETURN(runner.forward_, factory(session));
    } else {
      ISO_ASSIGN_OR_RETURN(const auto factory, methods.back.Find(form.backend, form.method));
      ISO_ASSIGN_OR_RETURN(runner.back_, factory(session));
    }
    ISO_ASSIGN_OR_RETURN(runner.volume_, session.NewVolume(scene.grid));
    ISO_ASSIGN_OR_RETURN(runner.stack_,
                         session.NewProjectionStack(scene.stack(), ops::StackUse::kProjections));
    ISO_RETURN_IF_ERROR(runner.MakeHostCopies());
    return runner;
  }

  // The first `views` of all.
  absl::StatusOr<Seconds> Run(int views) {
    ISO_RETURN_IF_ERROR(Clear());
    const auto matrices = std::span(scene_->views).subspan(0, static_cast<size_t>(views));
    const Shape3 stack{views, scene_->detector.rows, scene_->detector.columns};
    Seconds seconds;
    const auto timed = [&](double& to, auto work) -> absl::Status {
      const auto start = std::chrono::steady_clock::now();
      ISO_RETURN_IF_ERROR(work());
      ISO_RETURN_IF_ERROR(session_->Synchronize());
      to = SecondsSince(start);
      return absl::OkStatus();
    };
    const Shape3 slices = scene_->grid.shape();
    if (form_.direction == Direction::kForward) {
      ISO_RETURN_IF_ERROR(timed(seconds.upload, [&] {
        return volume_->Upload(0, {input(), slices});
      }));
      ISO_RETURN_IF_ERROR(
          timed(seconds.kernel, [&] { return forward_->Run(matrices, *volume_, *stack_); }));
      ISO_RETURN_IF_ERROR(timed(seconds.download, [&] {
        return stack_->Download(0, {output(), stack});
      }));
    } else {
      ISO_RETURN_IF_ERROR(timed(seconds.upload, [&] {
        return stack_->Upload(0, {input(), stack});
      }));
      ISO_RETURN_IF_ERROR(
          timed(seconds.kernel, [&] { return back_->Run(matrices, *stack_, *volume_); }));
      ISO_RETURN_IF_ERROR(timed(seconds.download, [&] {
        return volume_->Download(0, {output(), slices});
      }));
    }
    return seconds;
  }

  std::span<const float> result() { return {output(), output_floats()}; }

 private:
  Runner(const Form& form, const Scene& scene) : form_(form), scene_(&scene) {}

  const std::vector<float>& source() const {
    return form_.direction == Direction::kForward ? scene_->volume : scene_->projections;
  }
  size_t output_floats() const {
    const Shape3 shape =
        form_.direction == Direction::kForward ? scene_->stack() : scene_->grid.shape();
    return static_cast<size_t>(shape.count());
  }
  float* input() { return reinterpret_cast<float*>(input_->data()); }
  float* output() { return reinterpret_cast<float*>(output_->data()); }

  // Where devices copy from and to as fast as they can.
  absl::Status MakeHostCopies() {
    ops::Device& device = *session_.device;
    ISO_ASSIGN_OR_RETURN(input_, device.NewHostMemory(source().size() * sizeof(float)));
    ISO_ASSIGN_OR_RETURN(output_, device.NewHostMemory(output_floats() * sizeof(float)));
    std::copy(source().begin(), source().end(), input());
    return absl::OkStatus();
  }

  // Zero what is added to.
  absl::Status Clear() {
    if (form_.direction == Direction::kBack) {
      ISO_RETURN_IF_ERROR(volume_->Clear());
    } else {
      std::fill_n(output(), output_floats(), 0.f);
      ISO_RETURN_IF_ERROR(stack_->Upload(0, {output(), scene_->stack()}));
    }
    return session_->Synchronize();
  }

  Form form_;
  const Scene* scene_;
  OpenedSession session_;
  std::unique_ptr<ops::ForwardProject> forward_;
  std::unique_ptr<ops::MatchedBackproject> back_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> stack_;
  std::unique_ptr<ops::HostMemory> input_, output_;
};

absl::StatusOr<std::vector<std::string>> BackendsOf(const SiddonOptions& options) {
  std::vector<std::string> backends = options.backends;
  if (!backends.empty()) {
    // One that is asked for must be there.
    for (const std::string& name : backends) {
      ISO_RETURN_IF_ERROR(AllMethods().OpenDevice(name, {}).status());
    }
    return backends;
  }
  const auto& methods = AllMethods().projectors.at(ops::ProjectorModel::kSiddon);
  for (const auto& entry : methods.forward.List()) {
    const bool known = std::ranges::find(backends, entry.backend) != backends.end();
    if (known || entry.backend == kReference) continue;
    if (AllMethods().OpenDevice(entry.backend, {}).ok()) backends.push_back(entry.backend);
  }
  return backends;
}

template <class Table>
void AddForms(const Table& table, Direction direction, const std::string& backend,
              const SiddonOptions& options, std::vector<Form>& forms) {
  std::vector<int> threads{0};
  if (backend == kCpu) {
    threads = options.threads;
    if (threads.empty()) threads = {1, UsableCores()};
    std::ranges::sort(threads);
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  }
  for (const auto& entry : table.List()) {
    const auto& wanted = options.methods;
    if (entry.backend != backend) continue;
    if (!wanted.empty() && std::ranges::find(wanted, entry.method) == wanted.end()) continue;
    for (const int count : threads) forms.push_back({backend, entry.method, count, direction});
  }
}

absl::StatusOr<std::vector<Form>> FormsOf(const SiddonOptions& options) {
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> backends, BackendsOf(options));
  const auto& methods = AllMethods().projectors.at(ops::ProjectorModel::kSiddon);
  std::vector<Form> forms;
  for (const std::string& backend : backends) {
    AddForms(methods.forward, Direction::kForward, backend, options, forms);
    AddForms(methods.back, Direction::kBack, backend, options, forms);
  }
  for (const std::string& wanted : options.methods) {
    if (std::ranges::none_of(forms, [&](const Form& form) { return form.method == wanted; })) {
      return absl::NotFoundError(absl::StrCat("--method has '", wanted,
                                              "', which no chosen backend has for this projector"));
    }
  }
  return forms;
}

// Root mean square of the difference, as a share of the first's.
double Difference(std::span<const float> first, std::span<const float> other) {
  double square = 0, difference = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    square += double{first[i]} * first[i];
    difference += (double{first[i]} - other[i]) * (double{first[i]} - other[i]);
  }
  return std::sqrt(difference / square);
}

struct Measured {
  Form form;
  Seconds seconds;
  double difference;  // from the first form of the direction
};

absl::StatusOr<Seconds> Median(Runner& runner, const SiddonOptions& options) {
  // A few views wake the device and allocate.
  ISO_RETURN_IF_ERROR(runner.Run(std::min(options.views, 2)).status());
  std::vector<Seconds> all;
  for (int i = 0; i < options.repeats; ++i) {
    ISO_ASSIGN_OR_RETURN(const Seconds seconds, runner.Run(options.views));
    all.push_back(seconds);
  }
  std::ranges::sort(all, {}, &Seconds::total);
  return all[all.size() / 2];
}

// Seconds of the paper, on two Xeons of 3.1 GHz and a Quadro 6000.
std::string Published(const Form& form, int most_threads) {
  const bool forward = form.direction == Direction::kForward;
  if (form.backend == "cuda") return forward ? "5.9" : "7.1";
  if (form.method == "jacobs" && form.threads == most_threads) return forward ? "100" : "200";
  if (form.method != "jacobs_inner_v") return "-";
  if (form.threads == 1) return forward ? "292" : "367";
  return form.threads == most_threads ? (forward ? "18" : "65") : "-";
}

std::string SpeedUp(const std::vector<Measured>& all, const Measured& one) {
  const int most = one.form.threads > 0 ? one.form.threads : UsableCores();
  for (const Measured& other : all) {
    const Form& form = other.form;
    if (form.backend == kCpu && form.method == kBaseline && form.threads == most &&
        form.direction == one.form.direction) {
      return absl::StrFormat("%.2f", other.seconds.total() / one.seconds.total());
    }
  }
  return "-";
}

absl::Status Report(const SiddonOptions& options, const Scene& scene,
                    const std::vector<Measured>& all) {
  int most_threads = 0;
  for (const Measured& one : all) most_threads = std::max(most_threads, one.form.threads);
  FigureTable table({"form", "direction", "threads", "upload s", "kernel s", "download s",
                     "total s", "GUPS", "times jacobs", "rms difference", "paper s"});
  for (const Measured& one : all) {
    table.Add(
        {absl::StrCat(one.form.backend, " ", one.form.method),
         std::string(NameOf(one.form.direction)),
         one.form.threads == 0 ? "-" : absl::StrCat(one.form.threads),
         absl::StrFormat("%.4f", one.seconds.upload), absl::StrFormat("%.4f", one.seconds.kernel),
         absl::StrFormat("%.4f", one.seconds.download),
         absl::StrFormat("%.4f", one.seconds.total()),
         absl::StrFormat("%.3f", scene.updates / one.seconds.kernel * 1e-9), SpeedUp(all, one),
         absl::StrFormat("%.1e", one.difference), Published(one.form, most_threads)});
  }
  table.Print(
      "Seconds with transfers; GUPS are exact updates by kernel seconds; times jacobs: as fast as "
      "\"cpu jacobs\" on as many threads (devices: on all)");
  ISO_RETURN_IF_ERROR(table.Write(options.out, "siddon"));
  for (const Direction direction : {Direction::kForward, Direction::kBack}) {
    std::map<std::string, imaging::Curve> curves;
    for (const Measured& one : all) {
      if (one.form.direction != direction || one.form.threads == 0) continue;
      imaging::Curve& curve = curves[one.form.method];
      curve.name = one.form.method;
      curve.points.push_back({static_cast<double>(one.form.threads), one.seconds.total()});
    }
    std::vector<imaging::Curve> shown;
    for (auto& [name, curve] : curves) shown.push_back(std::move(curve));
    ISO_RETURN_IF_ERROR(WriteCurves(options.out, absl::StrCat("siddon_", NameOf(direction)),
                                    {.title = absl::StrCat("seconds, ", NameOf(direction), ", cpu"),
                                     .x_label = "threads",
                                     .logarithmic = true,
                                     .logarithmic_x = true},
                                    shown));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunSiddon(const SiddonOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const std::vector<Form> forms, FormsOf(options));
  ISO_ASSIGN_OR_RETURN(const Scene scene, MakeScene(options));
  std::printf("%s, commit %s\n", Processor().c_str(), Commit().c_str());
  std::printf("%d views of %dx%d, %d^3 voxels: %.6g updates; medians of %d runs\n", options.views,
              options.pixels, options.pixels, options.voxels, scene.updates, options.repeats);
  std::vector<Measured> all;
  std::map<Direction, std::vector<float>> first;
  for (const Form& form : forms) {
    ISO_ASSIGN_OR_RETURN(Runner runner, Runner::Create(form, scene));
    ISO_ASSIGN_OR_RETURN(const Seconds seconds, Median(runner, options));
    const std::span<const float> result = runner.result();
    auto& base = first[form.direction];
    if (base.empty()) base.assign(result.begin(), result.end());
    all.push_back({form, seconds, Difference(base, result)});
    std::printf(".");
    std::fflush(stdout);
  }
  return Report(options, scene, all);
}

}  // namespace isocenter::bench
