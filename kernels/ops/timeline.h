// When each stage of a reconstruction was at work on a device.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::ops {

enum class Stage {
  kUpload,
  kPreprocess,
  kFilter,
  kBackproject,
  kHounsfield,
  kDownload,
  kForwardProject,
};

/// "upload", "preprocess", "filter", "backproject", "hounsfield", "download", "forward_project".
std::string_view Name(Stage stage);

/// One piece of work of a stage; seconds of std::chrono::steady_clock, so that the spans of several
/// devices and of the host fit together.
struct Span {
  Stage stage = Stage::kUpload;
  double begin = 0, end = 0;
};

/// The record of a session's work (Session::timeline). Not thread-safe: of the thread that starts
/// the work.
class Timeline {
 public:
  virtual ~Timeline() = default;
  /// Brackets the work that is started in between; brackets do not nest.
  virtual void Begin(Stage stage) = 0;
  virtual void End() = 0;
  /// Waits for what has been started, returns it in order of its begin, and forgets it. Copies
  /// between host and device are recorded by the backends for which they are work of their own.
  virtual absl::StatusOr<std::vector<Span>> Take() = 0;
};

/// For devices whose work is done when the call returns.
class HostTimeline final : public Timeline {
 public:
  void Begin(Stage stage) override;
  void End() override;
  absl::StatusOr<std::vector<Span>> Take() override;

 private:
  std::vector<Span> spans_;
};

/// Now, on the clock of spans.
double SteadySeconds();

}  // namespace isocenter::ops
