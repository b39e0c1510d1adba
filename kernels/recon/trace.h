// What the devices of a job did when.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/ops/timeline.h"

namespace isocenter::recon {

struct DeviceSpan {
  int device = 0;  // index among the job's devices
  ops::Span span;
};

/// Seconds that each stage was at work; of several devices, those of the busiest.
struct StageSeconds {
  double upload = 0;
  double preprocess = 0;
  double filter = 0;
  double backproject = 0;
  double hounsfield = 0;
  double download = 0;
  double forward_project = 0;
  /// Seconds in which any stage was at work on any device.
  double busy = 0;
};
StageSeconds SecondsOf(const std::vector<DeviceSpan>& trace);

/// The trace as JSON in Chrome's trace event format, which Perfetto and chrome://tracing open. A
/// process for each device, a thread each for uploads, kernels and downloads. Times count from the
/// first span, which began at `began`: otherData.begin_unix_us, left out where it is not known.
/// `plan` (plan_text.h) is kept with it, as otherData.plan.
std::string ChromeTrace(const std::vector<DeviceSpan>& trace, absl::string_view plan,
                        absl::Time began = absl::InfinitePast());
/// When the first span began, of the system's clock. Not of an empty trace.
absl::Time BeginOf(const std::vector<DeviceSpan>& trace);

}  // namespace isocenter::recon
