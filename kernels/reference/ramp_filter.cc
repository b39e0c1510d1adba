#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/cut_row.h"
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
    for (int64_t i = 0; i < views; ++i) {
      for (int64_t v = 0; v < rows; ++v) {
        const std::vector<double> row =
            PreparedRow({in->view().row(i, v), static_cast<size_t>(n)}, spec());
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
