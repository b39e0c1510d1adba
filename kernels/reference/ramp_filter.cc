#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

// Convolution in the spatial domain, term by term.
class RampFilterConvolution final : public ops::RampFilter {
 public:
  explicit RampFilterConvolution(const ops::RampFilterSpec& spec)
      : RampFilter(spec), kernel_(ops::RampFilterKernel(spec)) {}

  absl::Status DoRun(int views, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const int64_t rows = std::min<int64_t>(spec().rows, in->shape().middle);
    const int n = spec().columns;
    const int extension = ops::ExtensionLength(spec());
    std::vector<double> row(n + 2 * extension);
    for (int64_t i = 0; i < views; ++i) {
      for (int64_t v = 0; v < rows; ++v) {
        const double* p = in->view().row(i, v);
        for (int u = 0; u < n; ++u) row[extension + u] = p[u];
        for (int k = 1; k <= extension; ++k) {
          const double fade = (1 + std::cos(kPi * k / (extension + 1))) / 2;
          row[extension - k] = std::max(0.0, 2 * p[0] - p[k]) * fade;
          row[extension + n - 1 + k] = std::max(0.0, 2 * p[n - 1] - p[n - 1 - k]) * fade;
        }
        for (int u = 0; u < n; ++u) {
          double sum = 0;
          for (int j = 0; j < n + 2 * extension; ++j)
            sum += row[j] * kernel_[std::abs(j - extension - u)];
          out->view()(i, v, u) = sum;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  std::vector<double> kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(const ops::RampFilterSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRampFilter(spec));
  return std::make_unique<RampFilterConvolution>(spec);
}

}  // namespace isocenter::reference
