#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/session_copies.h"
#include "kernels/cuda/iterative/arithmetic_kernels.cuh"
#include "kernels/cuda/iterative/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// A vector behind its interface.
struct Elements {
  float* data;
  Shape3 shape;
  bool volume;
  ops::StackUse use;  // of stacks
};

template <class Buffer>
Elements ElementsOf(const Buffer& buffer) {
  if constexpr (std::is_same_v<Buffer, Volume>) {
    return {buffer.data(), buffer.grid().shape(), true, {}};
  } else {
    return {buffer.data(), buffer.shape(), false, buffer.use()};
  }
}

absl::StatusOr<Elements> Readable(const ops::Vector& vector) {
  if (const auto* volume = dynamic_cast<const Volume*>(&vector)) {
    ISO_RETURN_IF_ERROR(volume->WaitForUploads());
    return ElementsOf(*volume);
  }
  if (const auto* stack = dynamic_cast<const Stack*>(&vector)) {
    ISO_RETURN_IF_ERROR(stack->WaitForUploads());
    return ElementsOf(*stack);
  }
  return ops::ForeignBuffer("vector", "cuda");
}

absl::StatusOr<Elements> Writable(ops::Vector& vector) {
  if (auto* volume = dynamic_cast<Volume*>(&vector)) {
    ISO_RETURN_IF_ERROR(volume->WaitForCopies());
    return ElementsOf(*volume);
  }
  if (auto* stack = dynamic_cast<Stack*>(&vector)) {
    ISO_RETURN_IF_ERROR(stack->WaitForCopies());
    return ElementsOf(*stack);
  }
  return ops::ForeignBuffer("vector", "cuda");
}

absl::Status CheckSameKind(const Elements& got, const Elements& expected) {
  if (got.volume != expected.volume) {
    return absl::InvalidArgumentError("a volume and a projection stack in one call");
  }
  return ops::CheckSameShape("vectors", got.shape, expected.shape);
}

absl::Status CheckAlike(const Elements& got, const Elements& expected) {
  ISO_RETURN_IF_ERROR(CheckSameKind(got, expected));
  return got.use == expected.use ? absl::OkStatus() : ops::WrongUse(expected.use);
}

absl::Status CheckRows(RowRange rows, int64_t available) {
  if (rows.first >= 0 && rows.count >= 0 && rows.first <= available - rows.count) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rows ", rows.first, " to ", rows.end(), " of a stack of ", available, " rows"));
}

absl::Status CheckSlice(int slice, int slices) {
  if (slice >= 0 && slice < slices) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("slice ", slice, " of a volume of ", slices, " slices"));
}

class Arithmetic final : public ops::Arithmetic {
 public:
  Arithmetic(CudaDevice& device, Sums sums)
      : device_(device), sums_(std::move(sums)), copies_(device) {}

  absl::Status Fill(double value, ops::Vector& y) override {
    return Apply(FillOp{static_cast<float>(value)}, nullptr, nullptr, y);
  }
  absl::Status Copy(const ops::Vector& x, ops::Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Elements from, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements to, Writable(y));
    ISO_RETURN_IF_ERROR(CheckSameKind(from, to));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    return copies_.Copy(device_, from.data, from.shape.count(), to.data);
  }
  absl::Status Axpby(double a, const ops::Vector& x, double b, ops::Vector& y) override {
    if (b == 0) return Apply(ScaleOp{static_cast<float>(a)}, &x, nullptr, y);
    return Apply(AxpbyOp{static_cast<float>(a), static_cast<float>(b)}, &x, nullptr, y);
  }
  absl::Status Multiply(const ops::Vector& x, ops::Vector& y) override {
    return Apply(MultiplyOp{}, &x, nullptr, y);
  }
  absl::Status MultiplyAdd(double a, const ops::Vector& w, const ops::Vector& x,
                           ops::Vector& y) override {
    return Apply(MultiplyAddOp{static_cast<float>(a)}, &x, &w, y);
  }
  absl::Status MultiplyAddAbove(double least, double a, const ops::Vector& w, const ops::Vector& x,
                                ops::Vector& y) override {
    return Apply(MultiplyAddAboveOp{static_cast<float>(a), static_cast<float>(least)}, &x, &w, y);
  }
  absl::Status Invert(double threshold, ops::Vector& y) override {
    if (!(threshold >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat("threshold ", threshold, "; at least 0"));
    }
    return Apply(InvertOp{threshold}, nullptr, nullptr, y);
  }
  absl::Status Exponential(double a, ops::Vector& y) override {
    return Apply(ExponentialOp{static_cast<float>(a)}, nullptr, nullptr, y);
  }
  absl::Status ClampBelow(double least, ops::Vector& y) override {
    return Apply(ClampBelowOp{static_cast<float>(least)}, nullptr, nullptr, y);
  }

  absl::StatusOr<double> Dot(const ops::Vector& x, const ops::Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Elements a, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements b, Readable(y));
    ISO_RETURN_IF_ERROR(CheckAlike(a, b));
    return DotOf(a.data, b.data, {1, a.shape.count(), a.shape.count()});
  }
  absl::StatusOr<double> Dot(const ops::ProjectionStack& x, const ops::ProjectionStack& y,
                             RowRange rows) override {
    ISO_ASSIGN_OR_RETURN(const Elements a, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements b, Readable(y));
    ISO_RETURN_IF_ERROR(CheckAlike(a, b));
    ISO_RETURN_IF_ERROR(CheckRows(rows, a.shape.middle));
    if (rows.count == 0) return 0.0;
    const int64_t columns = a.shape.fast, first = rows.first * columns;
    return DotOf(a.data + first, b.data + first,
                 {a.shape.slow, rows.count * columns, a.shape.middle * columns});
  }

  absl::Status AddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                       ops::ProjectionStack& to) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(from, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(Stack * target, AsStack(to, ops::StackUse::kProjections));
    const Shape3 shape = target->shape();
    ISO_RETURN_IF_ERROR(ops::CheckSameShape("projections that are added, rows aside,",
                                            {source->shape().slow, 1, source->shape().fast},
                                            {shape.slow, 1, shape.fast}));
    ISO_RETURN_IF_ERROR(CheckRows(rows, source->shape().middle));
    ISO_RETURN_IF_ERROR(CheckRows({to_row, rows.count}, shape.middle));
    if (rows.count == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(WaitForSession(source->device(), device_));
    const int64_t length = rows.count * shape.fast, stride = shape.middle * shape.fast;
    const int64_t step = SessionCopies::ViewsAtOnce(length);
    for (int64_t view = 0; view < shape.slow; view += step) {
      const int64_t views = std::min(step, shape.slow - view);
      ISO_ASSIGN_OR_RETURN(const auto reached, copies_.Reach(*source, view, views, rows));
      const dim3 blocks((length + kElementThreads - 1) / kElementThreads, views);
      AddRunsKernel<<<blocks, kElementThreads, 0, device_.stream()>>>(
          reached.data, reached.stride, target->data() + view * stride + to_row * shape.fast,
          stride, length);
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return WaitForSession(device_, source->device());
  }

  absl::Status CopySlice(const ops::VolumeBuffer& from, int from_slice, ops::VolumeBuffer& to,
                         int to_slice) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(from));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(to));
    const Shape3 shape = target->grid().shape(), other = source->grid().shape();
    ISO_RETURN_IF_ERROR(ops::CheckSameShape("slices", {1, other.middle, other.fast},
                                            {1, shape.middle, shape.fast}));
    ISO_RETURN_IF_ERROR(CheckSlice(from_slice, source->grid().nz));
    ISO_RETURN_IF_ERROR(CheckSlice(to_slice, target->grid().nz));
    const int64_t count = shape.middle * shape.fast;
    ISO_RETURN_IF_ERROR(WaitForSession(source->device(), device_));
    ISO_RETURN_IF_ERROR(copies_.Copy(source->device(), source->data() + from_slice * count, count,
                                     target->data() + to_slice * count));
    return WaitForSession(device_, source->device());
  }

 private:
  // y = op(x, w, y); null: an operand that is not read.
  template <class Op>
  absl::Status Apply(Op op, const ops::Vector* x, const ops::Vector* w, ops::Vector& y) {
    ISO_ASSIGN_OR_RETURN(const Elements to, Writable(y));
    const float* operands[2] = {};
    const ops::Vector* const vectors[2] = {x, w};
    for (int i = 0; i < 2; ++i) {
      if (vectors[i] == nullptr) continue;
      ISO_ASSIGN_OR_RETURN(const Elements from, Readable(*vectors[i]));
      ISO_RETURN_IF_ERROR(CheckAlike(from, to));
      operands[i] = from.data;
    }
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const int64_t count = to.shape.count();
    constexpr int64_t kMostBlocks = 8192;
    const int blocks = static_cast<int>(
        std::clamp<int64_t>((count / 4 + kElementThreads - 1) / kElementThreads, 1, kMostBlocks));
    ApplyKernel<<<blocks, kElementThreads, 0, device_.stream()>>>(op, operands[0], operands[1],
                                                                  to.data, count);
    return ToStatus(cudaGetLastError(), "ApplyKernel");
  }

  absl::StatusOr<double> DotOf(const float* x, const float* y, const Runs& r) {
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    constexpr int64_t kPerBlock = 16 * kSumThreads;
    const auto across =
        static_cast<unsigned>(std::clamp<int64_t>(r.length / kPerBlock, 1, kMostPartialSums));
    const auto down =
        static_cast<unsigned>(std::clamp<int64_t>(kMostPartialSums / across, 1, r.runs));
    DotKernel<<<dim3(across, down), kSumThreads, 0, device_.stream()>>>(x, y, r, sums_.partial());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return sums_.Total(across * down, device_.stream());
  }

  CudaDevice& device_;
  Sums sums_;
  SessionCopies copies_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(CudaDevice& device) {
  ISO_RETURN_IF_ERROR(device.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Sums sums, Sums::Create());
  return std::make_unique<Arithmetic>(device, std::move(sums));
}

}  // namespace isocenter::cuda
