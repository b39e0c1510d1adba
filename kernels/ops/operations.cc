#include "kernels/ops/operations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

absl::Status CheckWeights(std::span<const ViewWeights> weights, const Shape3& frames) {
  if (static_cast<int64_t>(weights.size()) != frames.slow) {
    return absl::InvalidArgumentError(absl::StrCat(weights.size(), " view weights for ",
                                                   frames.slow, " frames; legal is one for each"));
  }
  for (size_t view = 0; view < weights.size(); ++view) {
    ISO_RETURN_IF_ERROR(CheckMatrix(view, weights[view].matrix));
    const size_t columns = weights[view].column_weight.size();
    if (static_cast<int64_t>(columns) != frames.fast) {
      return absl::InvalidArgumentError(absl::StrCat("view ", view, " has ", columns,
                                                     " column weights; legal is ", frames.fast,
                                                     ", one for each column"));
    }
  }
  return absl::OkStatus();
}

// Where a stack is wider than the frames.
absl::Status CheckPlace(const Shape3& frames, int64_t first_column, const Shape3& stack) {
  Shape3 widened = frames;
  widened.fast = std::max(frames.fast, stack.fast);
  ISO_RETURN_IF_ERROR(CheckSlices("frames", 0, widened, stack));
  const int64_t last = stack.fast - frames.fast;
  if (first_column < 0 || first_column > last || first_column % kColumnAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frames of ", frames.fast, " columns from column ", first_column, " of ", stack.fast,
        " on; legal is a multiple of ", kColumnAlignment, " up to ", last));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Preprocess::Run(const RawFrames& frames, const CountRange& range,
                             std::span<const ViewWeights> weights, ProjectionStack& out,
                             int64_t first_column) {
  if (static_cast<bool>(frames.counts) == static_cast<bool>(frames.line_integrals)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the frames have ", frames.counts ? "both" : "neither",
                     " counts and line integrals; legal is one of them"));
  }
  ISO_RETURN_IF_ERROR(CheckUse(out, StackUse::kLineIntegrals));
  ISO_RETURN_IF_ERROR(CheckPlace(frames.shape(), first_column, out.shape()));
  if (frames.counts) {
    ISO_RETURN_IF_ERROR(CheckPositive("i0", range.i0));
    ISO_RETURN_IF_ERROR(CheckPositive("the lowest count", range.lowest));
  }
  ISO_RETURN_IF_ERROR(CheckWeights(weights, frames.shape()));
  return DoRun(frames, range, weights, first_column, out);
}

absl::Status Preprocess::Weigh(const ProjectionStack& line_integrals, int64_t first_view,
                               RowRange rows, std::span<const ViewWeights> weights,
                               ProjectionStack& out, int64_t first_column) {
  ISO_RETURN_IF_ERROR(CheckUse(line_integrals, StackUse::kLineIntegrals));
  ISO_RETURN_IF_ERROR(CheckUse(out, StackUse::kLineIntegrals));
  ISO_RETURN_IF_ERROR(CheckRows(rows, line_integrals.shape().middle));
  const Shape3 used{static_cast<int64_t>(weights.size()), rows.count, line_integrals.shape().fast};
  Shape3 available = line_integrals.shape();
  available.middle = rows.count;
  ISO_RETURN_IF_ERROR(CheckSlices("views", first_view, used, available));
  ISO_RETURN_IF_ERROR(CheckPlace(used, first_column, out.shape()));
  ISO_RETURN_IF_ERROR(CheckWeights(weights, used));
  return DoWeigh(line_integrals, first_view, rows, weights, first_column, out);
}

absl::Status CheckRampFilter(const RampFilterSpec& spec) {
  constexpr int kMaxPixels = 1 << 16;
  if (spec.rows < 1 || spec.rows > kMaxPixels || spec.columns < 1 || spec.columns > kMaxPixels) {
    return absl::InvalidArgumentError(absl::StrCat("ramp filter of ", spec.columns, " x ",
                                                   spec.rows, " pixels; legal is 1 to ", kMaxPixels,
                                                   " per axis"));
  }
  if (!(spec.cutoff > 0 && spec.cutoff <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("ramp filter with cut-off ", spec.cutoff,
                                                   "; legal is more than 0 and at most 1"));
  }
  return absl::OkStatus();
}

absl::Status RampFilter::Run(int views, const ProjectionStack& line_integrals,
                             ProjectionStack& filtered) {
  ISO_RETURN_IF_ERROR(CheckUse(line_integrals, StackUse::kLineIntegrals));
  ISO_RETURN_IF_ERROR(CheckUse(filtered, StackUse::kProjections));
  const int64_t rows = std::min<int64_t>(spec_.rows, line_integrals.shape().middle);
  const Shape3 used{views, rows, spec_.columns};
  ISO_RETURN_IF_ERROR(CheckSlices("line integrals", 0, used, line_integrals.shape()));
  ISO_RETURN_IF_ERROR(CheckSlices("filtered projections", 0, used, filtered.shape()));
  return DoRun(views, line_integrals, filtered);
}

absl::Status Backproject::Run(std::span<const ProjectionMatrix> matrices,
                              const ProjectionStack& filtered, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(CheckUse(filtered, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckMatrices(matrices, filtered.shape()));
  return DoRun(matrices, filtered, volume);
}

absl::Status ToHounsfield::Run(const HounsfieldScale& scale, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(CheckPositive("mu_water_per_mm", scale.mu_water_per_mm));
  ISO_RETURN_IF_ERROR(CheckHounsfieldTable(scale.table));
  return DoRun(scale, volume);
}

}  // namespace isocenter::ops
