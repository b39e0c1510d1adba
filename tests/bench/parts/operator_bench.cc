// isocenter-operator-bench VIEWS BACKEND: a projector and its adjoint from C++, arrays of the host
// in and out, as somebody writes it who links the kernels. tools/lab/operator_rate.py runs it
// beside the Python package: for each line "forward" or "adjoint" on its input it does that once
// and writes seconds of the clock and of the processor.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/scan.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

double ProcessorSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Operator {
  OpenedSession session;
  std::unique_ptr<ops::ForwardProject> forward;
  std::unique_ptr<ops::MatchedBackproject> adjoint;
  std::unique_ptr<ops::Arithmetic> arithmetic;
  std::unique_ptr<ops::VolumeBuffer> volume;
  std::unique_ptr<ops::ProjectionStack> stack;
  int64_t chunk = 0;
};

absl::StatusOr<Operator> MakeOperator(const ScanCase& scan, const std::string& backend) {
  Operator made;
  ISO_ASSIGN_OR_RETURN(made.session, OpenSession(Backends(), backend, {.threads = 0}));
  const ops::ProjectorMethods& joseph = Backends().projectors.at(ops::ProjectorModel::kJoseph);
  ISO_ASSIGN_OR_RETURN(const auto forward, joseph.forward.Find(backend));
  ISO_ASSIGN_OR_RETURN(made.forward, forward(*made.session));
  ISO_ASSIGN_OR_RETURN(const auto adjoint, joseph.back.Find(backend));
  ISO_ASSIGN_OR_RETURN(made.adjoint, adjoint(*made.session));
  ISO_ASSIGN_OR_RETURN(const auto arithmetic, Backends().arithmetic.Find(backend));
  ISO_ASSIGN_OR_RETURN(made.arithmetic, arithmetic(*made.session));
  ISO_ASSIGN_OR_RETURN(made.volume, made.session->NewVolume(scan.grid));
  made.chunk = std::min<int64_t>(made.session->device().traits().chunk_views,
                                 static_cast<int64_t>(scan.trajectory.size()));
  ISO_ASSIGN_OR_RETURN(made.stack, made.session->NewProjectionStack(
                                       {made.chunk, scan.detector.rows, scan.detector.columns},
                                       ops::StackUse::kProjections));
  return made;
}

absl::Status Apply(bool forward, const ScanCase& scan, Operator& on, HostView3<float> volume,
                   HostView3<float> projections) {
  const int64_t views = projections.shape().slow;
  ISO_RETURN_IF_ERROR(forward ? on.volume->Upload(0, volume) : on.volume->Clear());
  for (int64_t first = 0; first < views; first += on.chunk) {
    const int64_t count = std::min(on.chunk, views - first);
    const auto matrices = std::span(scan.trajectory).subspan(first, count);
    ISO_RETURN_IF_ERROR(on.stack->Reshape({count, scan.detector.rows, scan.detector.columns}));
    if (forward) {
      ISO_RETURN_IF_ERROR(on.arithmetic->Fill(0, *on.stack));
      ISO_RETURN_IF_ERROR(on.forward->Run(matrices, *on.volume, *on.stack));
      ISO_RETURN_IF_ERROR(on.stack->Download(0, projections.slices(first, count)));
    } else {
      ISO_RETURN_IF_ERROR(on.stack->Upload(0, projections.slices(first, count)));
      ISO_RETURN_IF_ERROR(on.adjoint->Run(matrices, *on.stack, *on.volume));
    }
  }
  return forward ? absl::OkStatus() : on.volume->Download(0, volume);
}

absl::Status Serve(int views, const std::string& backend) {
  ISO_ASSIGN_OR_RETURN(const ScanCase scan, MakeScanCase("H256", views, ""));
  ISO_ASSIGN_OR_RETURN(Operator on, MakeOperator(scan, backend));
  const Shape3 shape{views, scan.detector.rows, scan.detector.columns};
  std::vector<float> volume(static_cast<size_t>(scan.grid.voxels()), 0.02f);
  std::vector<float> projections(static_cast<size_t>(shape.count()), 1.f);
  for (std::string line; std::getline(std::cin, line);) {
    const double used = ProcessorSeconds();
    const auto start = std::chrono::steady_clock::now();
    ISO_RETURN_IF_ERROR(Apply(line == "forward", scan, on, {volume.data(), scan.grid.shape()},
                              {projections.data(), shape}));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%.6f %.6f\n", elapsed.count(), ProcessorSeconds() - used);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: isocenter-operator-bench VIEWS BACKEND\n");
    return 2;
  }
  const absl::Status status = isocenter::bench::Serve(std::atoi(argv[1]), argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
