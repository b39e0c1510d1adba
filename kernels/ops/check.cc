#include "kernels/ops/check.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

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
    return absl::ResourceExhaustedError(absl::StrCat(
        what, " of shape ", Text(shape), " need ", bytes, " bytes; the device's limit is ", limit));
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

absl::StatusOr<int64_t> CheckFilterStacks(const RampFilterSpec& spec, int views,
                                          Shape3 line_integrals, Shape3 filtered) {
  const int64_t rows = std::min<int64_t>(spec.rows, line_integrals.middle);
  const Shape3 used{views, rows, spec.columns};
  ISO_RETURN_IF_ERROR(CheckSlices("line integrals", 0, used, line_integrals));
  ISO_RETURN_IF_ERROR(CheckSlices("filtered projections", 0, used, filtered));
  return rows;
}

absl::Status ForeignBuffer(absl::string_view what, absl::string_view backend) {
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " does not belong to the ", backend, " backend"));
}

absl::Status WrongUse(StackUse expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the projection stack was not made for ",
      expected == StackUse::kProjections ? "projections" : "line integrals of the ramp filter"));
}

}  // namespace isocenter::ops
