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
      : spec_(spec), kernel_(ops::RampFilterKernel(spec)) {}

  absl::Status Run(int views, const ops::ProjectionStack& line_integrals,
                   ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals, ops::StackUse::kLineIntegrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(const int64_t rows,
                         ops::CheckFilterStacks(spec_, views, in->shape(), out->shape()));
    const int n = spec_.columns;
    const int extension = ops::ExtensionLength(spec_);
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
  ops::RampFilterSpec spec_;
  std::vector<double> kernel_;
};

}  // namespace

std::unique_ptr<ops::RampFilter> NewRampFilter(const ops::RampFilterSpec& spec) {
  return std::make_unique<RampFilterConvolution>(spec);
}

}  // namespace isocenter::reference
