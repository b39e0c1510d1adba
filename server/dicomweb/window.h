// Values as shades of grey. Source: DICOM PS3.3, C.11.2.1.2 and C.11.2.1.3.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::dicomweb {

enum class WindowFunction { kLinear, kLinearExact, kSigmoid };

struct Window {
  double center = 0, width = 1;
  WindowFunction function = WindowFunction::kLinear;
};

/// "center,width,function" (PS3.18, 8.3.5.1.4). Errors: INVALID_ARGUMENT with what is legal.
absl::StatusOr<Window> ParseWindow(absl::string_view text);

/// 0 is black.
uint8_t ShadeOf(const Window& window, double value);

}  // namespace isocenter::dicomweb
