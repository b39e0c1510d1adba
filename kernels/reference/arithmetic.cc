#include "kernels/ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
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

enum class Uses { kSame, kAny };

absl::Status CheckAlike(const Values& x, const Values& y, Uses uses = Uses::kSame) {
  if ((x.stack == nullptr) != (y.stack == nullptr)) {
    return absl::InvalidArgumentError("one vector is a volume, the other a projection stack");
  }
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("the vectors", x.shape, y.shape));
  if (uses == Uses::kSame && x.stack != nullptr && x.stack->use() != y.stack->use()) {
    return absl::InvalidArgumentError("the projection stacks were made for different uses");
  }
  return absl::OkStatus();
}

absl::Status CheckRows(RowRange rows, int64_t of) {
  if (rows.first >= 0 && rows.count >= 0 && rows.first <= of - rows.count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rows ", rows.first, " to ",
                                                 rows.first + rows.count - 1,
                                                 "; the projections have rows 0 to ", of - 1));
}

class ArithmeticPlain final : public ops::Arithmetic {
 public:
  absl::Status Fill(double value, Vector& y) override {
    return ForEach(y, [=](double&) { return value; });
  }
  absl::Status Copy(const Vector& x, Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values from, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values to, ValuesOf(y));
    ISO_RETURN_IF_ERROR(CheckAlike(from, to, Uses::kAny));
    std::copy(from.span.begin(), from.span.end(), to.span.begin());
    return absl::OkStatus();
  }
  absl::Status Axpby(double a, const Vector& x, double b, Vector& y) override {
    return ForEach(x, y, [=](double xi, double yi) { return b == 0 ? a * xi : a * xi + b * yi; });
  }
  absl::Status Multiply(const Vector& x, Vector& y) override {
    return ForEach(x, y, [](double xi, double yi) { return xi * yi; });
  }
  absl::Status MultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values weights, ValuesOf(w));
    ISO_ASSIGN_OR_RETURN(const Values terms, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values sum, ValuesOf(y));
    ISO_RETURN_IF_ERROR(CheckAlike(weights, sum));
    ISO_RETURN_IF_ERROR(CheckAlike(terms, sum));
    for (size_t i = 0; i < sum.span.size(); ++i) {
      sum.span[i] += a * weights.span[i] * terms.span[i];
    }
    return absl::OkStatus();
  }
  absl::Status MultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                Vector& y) override {
    ISO_RETURN_IF_ERROR(MultiplyAdd(a, w, x, y));
    return ClampBelow(least, y);
  }
  absl::Status Invert(double threshold, Vector& y) override {
    if (!(threshold >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("threshold is ", threshold, "; legal is 0 and above"));
    }
    return ForEach(y, [=](double yi) { return yi > threshold ? 1 / yi : 0; });
  }
  absl::Status Exponential(double a, Vector& y) override {
    return ForEach(y, [=](double yi) { return std::exp(a * yi); });
  }
  absl::Status ClampBelow(double least, Vector& y) override {
    return ForEach(y, [=](double yi) { return std::max(yi, least); });
  }

  absl::StatusOr<double> Dot(const Vector& x, const Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Values a, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values b, ValuesOf(y));
    ISO_RETURN_IF_ERROR(CheckAlike(a, b));
    double sum = 0;
    for (size_t i = 0; i < a.span.size(); ++i) sum += a.span[i] * b.span[i];
    return sum;
  }
  absl::StatusOr<double> Dot(const ops::ProjectionStack& x, const ops::ProjectionStack& y,
                             RowRange rows) override {
    ISO_ASSIGN_OR_RETURN(const Values a, ValuesOf(x));
    ISO_ASSIGN_OR_RETURN(const Values b, ValuesOf(y));
    ISO_RETURN_IF_ERROR(CheckAlike(a, b));
    ISO_RETURN_IF_ERROR(CheckRows(rows, a.shape.middle));
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

  absl::Status AddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                       ops::ProjectionStack& to) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(from, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(Stack * target, AsStack(to, ops::StackUse::kProjections));
    const Shape3 a = source->shape(), b = target->shape();
    ISO_RETURN_IF_ERROR(
        ops::CheckSameShape("projections, but for their rows,", {a.slow, b.middle, a.fast}, b));
    ISO_RETURN_IF_ERROR(CheckRows(rows, a.middle));
    ISO_RETURN_IF_ERROR(CheckRows({to_row, rows.count}, b.middle));
    for (int64_t view = 0; view < a.slow; ++view) {
      for (int64_t r = 0; r < rows.count; ++r) {
        for (int64_t u = 0; u < a.fast; ++u) {
          target->view()(view, to_row + r, u) += source->view()(view, rows.first + r, u);
        }
      }
    }
    return absl::OkStatus();
  }
  absl::Status CopySlice(const ops::VolumeBuffer& from, int from_slice, ops::VolumeBuffer& to,
                         int to_slice) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(from));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(to));
    const Shape3 slice{1, target->grid().ny, target->grid().nx};
    ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", from_slice, slice, source->grid().shape()));
    ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", to_slice, slice, target->grid().shape()));
    std::copy_n(source->view().row(from_slice, 0), slice.count(), target->view().row(to_slice, 0));
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
    ISO_RETURN_IF_ERROR(CheckAlike(from, to));
    for (size_t i = 0; i < to.span.size(); ++i) to.span[i] = function(from.span[i], to.span[i]);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Arithmetic> NewArithmetic() { return std::make_unique<ArithmeticPlain>(); }

}  // namespace isocenter::reference
