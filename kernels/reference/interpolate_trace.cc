#include <algorithm>
#include <vector>

#include "kernels/ops/second_pass.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class InterpolateTracePlain final : public ops::InterpolateTrace {
 private:
  absl::Status DoRun(int64_t views, const ops::MetalTrace& trace, const ops::ProjectionStack& metal,
                     const ops::ProjectionStack* prior, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(metal));
    const Stack* expected = nullptr;
    if (prior != nullptr) {
      ISO_ASSIGN_OR_RETURN(expected, AsStack(*prior));
    }
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    for (int64_t view = 0; view < views; ++view) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        std::vector<double> p(shape.fast), scale(shape.fast, ops::kPriorFloor);
        std::vector<bool> hidden(shape.fast);
        for (int64_t u = 0; u < shape.fast; ++u) {
          p[u] = stack->view()(view, v, u);
          if (expected != nullptr) scale[u] += std::max(expected->view()(view, v, u), 0.0);
          hidden[u] = InTrace(paths->view(), trace, view, v, u);
        }
        const std::vector<double> seen = Interpolated(p, scale, hidden);
        for (int64_t u = 0; u < shape.fast; ++u) stack->view()(view, v, u) = seen[u];
      }
    }
    return absl::OkStatus();
  }

  static bool InTrace(HostView3<const double> paths, const ops::MetalTrace& trace, int64_t view,
                      int64_t v, int64_t u) {
    const Shape3& shape = paths.shape();
    for (int64_t y = v - trace.margin; y <= v + trace.margin; ++y) {
      for (int64_t x = u - trace.margin; x <= u + trace.margin; ++x) {
        if (y < 0 || x < 0 || y >= shape.middle || x >= shape.fast) continue;
        if (paths(view, y, x) > trace.least) return true;
      }
    }
    return false;
  }

  static std::vector<double> Interpolated(const std::vector<double>& p,
                                          const std::vector<double>& scale,
                                          const std::vector<bool>& hidden) {
    const auto columns = static_cast<int64_t>(p.size());
    const auto ratio = [&](int64_t u) { return (p[u] + ops::kPriorFloor) / scale[u]; };
    std::vector<double> out = p;
    for (int64_t u = 0; u < columns; ++u) {
      if (!hidden[u]) continue;
      int64_t a = u, b = u;
      while (a >= 0 && hidden[a]) --a;
      while (b < columns && hidden[b]) ++b;
      if (a < 0 && b == columns) continue;
      double between = 0;
      if (a < 0) {
        between = ratio(b);
      } else if (b == columns) {
        between = ratio(a);
      } else {
        between = (static_cast<double>(b - u) * ratio(a) + static_cast<double>(u - a) * ratio(b)) /
                  static_cast<double>(b - a);
      }
      out[u] = scale[u] * between - ops::kPriorFloor;
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ops::InterpolateTrace> NewInterpolateTrace() {
  return std::make_unique<InterpolateTracePlain>();
}

}  // namespace isocenter::reference
