#include "kernels/base/share_text.h"

#include "absl/strings/str_format.h"

namespace isocenter {

std::string ShareText(double share) {
  const double percent = 100 * share;
  if (percent == 0) return "0 %";
  if (percent > 0 && percent < 0.1) return "below 0.1 %";
  return percent < 10 ? absl::StrFormat("%.1f %%", percent) : absl::StrFormat("%.0f %%", percent);
}

}  // namespace isocenter
