#include "kernels/ops/check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"

namespace isocenter::ops {
namespace {

std::string Text(Shape3 s) { return absl::StrCat(s.slow, "x", s.middle, "x", s.fast); }

}  // namespace

absl::Status CheckSlices(absl::string_view what, int64_t first, Shape3 part, Shape3 whole) {
  if (first < 0 || part.slow < 0 || first > whole.slow - part.slow || part.middle != whole.middle ||
      part.fast != whole.fast) {
    return absl::InvalidArgumentError(absl::StrCat(what, " of shape ", Text(part), " at index ",
                                                   first, " do not fit into ", Text(whole)));
  }
  return absl::OkStatus();
}

absl::Status CheckAllocation(absl::string_view what, Shape3 shape, int64_t bytes, int64_t limit) {
  if (shape.slow < 1 || shape.middle < 1 || shape.fast < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " of shape ", Text(shape), "; every extent must be at least 1"));
  }
  if (bytes > limit) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " of shape ", Text(shape), " need ",
                                                     BytesText(bytes), "; the device's limit is ",
                                                     BytesText(limit)));
  }
  return absl::OkStatus();
}

absl::Status CheckReshape(Shape3 shape, Shape3 capacity) {
  if (shape.slow < 1 || shape.middle < 1 || shape.fast < 1 || shape.slow > capacity.slow ||
      shape.middle > capacity.middle || shape.fast > capacity.fast) {
    return absl::InvalidArgumentError(
        absl::StrCat("a buffer made for ", Text(capacity), " cannot take the shape ", Text(shape)));
  }
  return absl::OkStatus();
}

absl::Status CheckSameShape(absl::string_view what, Shape3 got, Shape3 expected) {
  if (got == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " have shape ", Text(got), "; expected ", Text(expected)));
}

absl::Status CheckRows(RowRange rows, int64_t available) {
  if (rows.first >= 0 && rows.count >= 0 && rows.first <= available - rows.count) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rows ", rows.first, " to ", rows.end() - 1, "; legal is 0 to ", available - 1));
}

absl::Status CheckUse(const ProjectionStack& stack, StackUse use) {
  if (stack.use() == use) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the projection stack was not made for ",
      use == StackUse::kProjections ? "projections" : "line integrals of the ramp filter"));
}

absl::Status CheckMatrix(size_t view, const ProjectionMatrix& matrix) {
  for (const double value : matrix.m) {
    if (!std::isfinite(value)) {
      return absl::InvalidArgumentError(absl::StrCat("the matrix of view ", view, " has the value ",
                                                     value, "; legal is what is finite"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMatrices(std::span<const ProjectionMatrix> matrices, const Shape3& stack) {
  if (static_cast<int64_t>(matrices.size()) > stack.slow) {
    return absl::InvalidArgumentError(absl::StrCat(
        matrices.size(), " matrices for a stack of views; legal is 0 to ", stack.slow));
  }
  for (size_t view = 0; view < matrices.size(); ++view) {
    ISO_RETURN_IF_ERROR(CheckMatrix(view, matrices[view]));
  }
  return absl::OkStatus();
}

absl::Status CheckPositive(absl::string_view name, double value) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, "; legal is what is above 0 and finite"));
}

absl::Status CheckNotNegative(absl::string_view name, double value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; legal is 0 and above"));
}

absl::Status ForeignBuffer(absl::string_view what, absl::string_view backend) {
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " does not belong to the ", backend, " backend"));
}

}  // namespace isocenter::ops
