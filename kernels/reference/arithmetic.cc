#include "kernels/ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/ops/check.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

using ops::Vector;

// A volume or a stack.
struct Values {
  std::span<double> span;
  Shape3 shape;
  const Stack* stack = nullptr;  // null: a volume
};

absl::StatusOr<Values> ValuesOf(const Vector& vector) {
  auto& own = const_cast<Vector&>(vector);
  if (auto* volume = dynamic_cast<Volume*>(&own)) {
    return Values{volume->view().span(), volume->grid().shape()};
  }
  if (auto* stack = dynamic_cast<Stack*>(&own)) {
    return Values{stack->view().span(), stack->shape(), stack};
  }
  return ops::ForeignBuffer("vector", "reference");
}

class ArithmeticPlain final : public ops::Arithmetic {
 public:
  absl::Status DoFill(double value, Vector& y) override {
    return ForEach(y, [=](double&) { return value; });
  }
  absl::Status DoCopy(const Vector& x, Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values from, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values to, ValuesOf(y));
    std::copy(from.span.begin(), from.span.end(), to.span.begin());
    return absl::OkStatus();
  }
  absl::Status DoAxpby(double a, const Vector& x, double b, Vector& y) override {
    return ForEach(x, y, [=](double xi, double yi) { return b == 0 ? a * xi : a * xi + b * yi; });
  }
  absl::Status DoMultiply(const Vector& x, Vector& y) override {
    return ForEach(x, y, [](double xi, double yi) { return xi * yi; });
  }
  absl::Status DoMultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values weights, ValuesOf(w));
    ISO_ASSIGN_OR_RETURN(const Values terms, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values sum, ValuesOf(y));
    for (size_t i = 0; i < sum.span.size(); ++i) {
      sum.span[i] += a * weights.span[i] * terms.span[i];
    }
    return absl::OkStatus();
  }
  absl::Status DoMultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                  Vector& y) override {
    ISO_RETURN_IF_ERROR(MultiplyAdd(a, w, x, y));
    return ClampBelow(least, y);
  }
  absl::Status DoInvert(double threshold, Vector& y) override {
    return ForEach(y, [=](double yi) { return yi > threshold ? 1 / yi : 0; });
  }
  absl::Status DoExponential(double a, Vector& y) override {
    return ForEach(y, [=](double yi) { return std::exp(a * yi); });
  }
  absl::Status DoClampBelow(double least, Vector& y) override {
    return ForEach(y, [=](double yi) { return std::max(yi, least); });
  }

  absl::Status DoBend(const ops::HounsfieldHinges& hinges, Vector& y) override {
    return ForEach(y, [&](double yi) {
      double value = hinges.offset + double{hinges.slope} * yi;
      for (int k = 0; k < hinges.count; ++k) {
        value += hinges.turn[k] * std::max(0.0, yi - hinges.at[k]);
      }
      return value;
    });
  }

  absl::StatusOr<double> DoDot(const Vector& x, const Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values a, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values b, ValuesOf(y));
    double sum = 0;
    for (size_t i = 0; i < a.span.size(); ++i) sum += a.span[i] * b.span[i];
    return sum;
  }
  absl::StatusOr<double> DoDotOfRows(const ops::ProjectionStack& x, const ops::ProjectionStack& y,
                                     RowRange rows) override {
    ISO_ASSIGN_OR_RETURN(const Values a, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values b, ValuesOf(y));
    double sum = 0;
    for (int64_t view = 0; view < a.shape.slow; ++view) {
      for (int64_t v = rows.first; v < rows.end(); ++v) {
        for (int64_t u = 0; u < a.shape.fast; ++u) {
          sum += a.stack->view()(view, v, u) * b.stack->view()(view, v, u);
        }
      }
    }
    return sum;
  }

  absl::Status DoAddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                         ops::ProjectionStack& to) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(from));
    ISO_ASSIGN_OR_RETURN(Stack * target, AsStack(to));
    const Shape3 a = source->shape();
    for (int64_t view = 0; view < a.slow; ++view) {
      for (int64_t r = 0; r < rows.count; ++r) {
        for (int64_t u = 0; u < a.fast; ++u) {
          target->view()(view, to_row + r, u) += source->view()(view, rows.first + r, u);
        }
      }
    }
    return absl::OkStatus();
  }
  absl::Status DoCopySlices(const ops::VolumeBuffer& from, int from_slice, int slices,
                            ops::VolumeBuffer& to, int to_slice) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(from));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(to));
    const Shape3 run{slices, target->grid().ny, target->grid().nx};
    std::copy_n(source->view().row(from_slice, 0), run.count(), target->view().row(to_slice, 0));
    return absl::OkStatus();
  }

 private:
  template <class Function>
  absl::Status ForEach(Vector& y, Function function) {
    ISO_ASSIGN_OR_RETURN(const Values values, ValuesOf(y));
    for (double& value : values.span) value = function(value);
    return absl::OkStatus();
  }
  template <class Function>
  absl::Status ForEach(const Vector& x, Vector& y, Function function) {
    ISO_ASSIGN_OR_RETURN(const Values from, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values to, ValuesOf(y));
    for (size_t i = 0; i < to.span.size(); ++i) to.span[i] = function(from.span[i], to.span[i]);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Arithmetic> NewArithmetic() { return std::make_unique<ArithmeticPlain>(); }

}  // namespace isocenter::reference
