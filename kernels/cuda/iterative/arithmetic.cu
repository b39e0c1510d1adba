#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/session_copies.h"
#include "kernels/cuda/iterative/arithmetic_kernels.cuh"
#include "kernels/cuda/iterative/methods.h"
#include "kernels/cuda/iterative/sums.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// A vector behind its interface.
struct Elements {
  float* data;
  Shape3 shape;
};

absl::StatusOr<Elements> Readable(const ops::Vector& vector) {
  if (const auto* volume = dynamic_cast<const Volume*>(&vector)) {
    ISO_RETURN_IF_ERROR(volume->WaitForUploads());
    return Elements{volume->data(), volume->grid().shape()};
  }
  if (const auto* stack = dynamic_cast<const Stack*>(&vector)) {
    ISO_RETURN_IF_ERROR(stack->WaitForUploads());
    return Elements{stack->data(), stack->shape()};
  }
  return ops::ForeignBuffer("vector", "cuda");
}

absl::StatusOr<Elements> Writable(ops::Vector& vector) {
  if (auto* volume = dynamic_cast<Volume*>(&vector)) {
    ISO_RETURN_IF_ERROR(volume->WaitForCopies());
    return Elements{volume->data(), volume->grid().shape()};
  }
  if (auto* stack = dynamic_cast<Stack*>(&vector)) {
    ISO_RETURN_IF_ERROR(stack->WaitForCopies());
    return Elements{stack->data(), stack->shape()};
  }
  return ops::ForeignBuffer("vector", "cuda");
}

class Arithmetic final : public ops::Arithmetic {
 public:
  Arithmetic(CudaSession& session, Sums sums)
      : session_(session), sums_(std::move(sums)), copies_(session) {}

  absl::Status DoFill(double value, ops::Vector& y) override {
    return Apply(FillOp{static_cast<float>(value)}, nullptr, nullptr, y);
  }
  absl::Status DoCopy(const ops::Vector& x, ops::Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Elements from, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements to, Writable(y));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    return copies_.Copy(session_, from.data, from.shape.count(), to.data);
  }
  absl::Status DoAxpby(double a, const ops::Vector& x, double b, ops::Vector& y) override {
    if (b == 0) return Apply(ScaleOp{static_cast<float>(a)}, &x, nullptr, y);
    return Apply(AxpbyOp{static_cast<float>(a), static_cast<float>(b)}, &x, nullptr, y);
  }
  absl::Status DoMultiply(const ops::Vector& x, ops::Vector& y) override {
    return Apply(MultiplyOp{}, &x, nullptr, y);
  }
  absl::Status DoMultiplyAdd(double a, const ops::Vector& w, const ops::Vector& x,
                             ops::Vector& y) override {
    return Apply(MultiplyAddOp{static_cast<float>(a)}, &x, &w, y);
  }
  absl::Status DoMultiplyAddAbove(double least, double a, const ops::Vector& w,
                                  const ops::Vector& x, ops::Vector& y) override {
    return Apply(MultiplyAddAboveOp{static_cast<float>(a), static_cast<float>(least)}, &x, &w, y);
  }
  absl::Status DoInvert(double threshold, ops::Vector& y) override {
    return Apply(InvertOp{threshold}, nullptr, nullptr, y);
  }
  absl::Status DoExponential(double a, ops::Vector& y) override {
    return Apply(ExponentialOp{static_cast<float>(a)}, nullptr, nullptr, y);
  }
  absl::Status DoClampBelow(double least, ops::Vector& y) override {
    return Apply(ClampBelowOp{static_cast<float>(least)}, nullptr, nullptr, y);
  }

  absl::Status DoBend(const ops::HounsfieldHinges& hinges, ops::Vector& y) override {
    return Apply(BendOp{hinges}, nullptr, nullptr, y);
  }

  absl::StatusOr<double> DoDot(const ops::Vector& x, const ops::Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const Elements a, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements b, Readable(y));
    return DotOf(a.data, b.data, {1, a.shape.count(), a.shape.count()});
  }
  absl::StatusOr<double> DoDotOfRows(const ops::ProjectionStack& x, const ops::ProjectionStack& y,
                                     RowRange rows) override {
    ISO_ASSIGN_OR_RETURN(const Elements a, Readable(x));
    ISO_ASSIGN_OR_RETURN(const Elements b, Readable(y));
    if (rows.count == 0) return 0.0;
    const int64_t columns = a.shape.fast, first = rows.first * columns;
    return DotOf(a.data + first, b.data + first,
                 {a.shape.slow, rows.count * columns, a.shape.middle * columns});
  }

  absl::Status DoAddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                         ops::ProjectionStack& to) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(from));
    ISO_ASSIGN_OR_RETURN(Stack * target, AsStack(to));
    const Shape3 shape = target->shape();
    if (rows.count == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(WaitForSession(source->session(), session_));
    const int64_t length = rows.count * shape.fast, stride = shape.middle * shape.fast;
    const int64_t step = SessionCopies::ViewsAtOnce(length);
    for (int64_t view = 0; view < shape.slow; view += step) {
      const int64_t views = std::min(step, shape.slow - view);
      ISO_ASSIGN_OR_RETURN(const auto reached, copies_.Reach(*source, view, views, rows));
      const dim3 blocks((length + kElementThreads - 1) / kElementThreads, views);
      AddRunsKernel<<<blocks, kElementThreads, 0, session_.stream()>>>(
          reached.data, reached.stride, target->data() + view * stride + to_row * shape.fast,
          stride, length);
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return WaitForSession(session_, source->session());
  }

  absl::Status DoCopySlices(const ops::VolumeBuffer& from, int from_slice, int slices,
                            ops::VolumeBuffer& to, int to_slice) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(from));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(to));
    const int64_t count = int64_t{target->grid().ny} * target->grid().nx;
    ISO_RETURN_IF_ERROR(WaitForSession(source->session(), session_));
    ISO_RETURN_IF_ERROR(copies_.Copy(source->session(), source->data() + from_slice * count,
                                     slices * count, target->data() + to_slice * count));
    return WaitForSession(session_, source->session());
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
      operands[i] = from.data;
    }
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t count = to.shape.count();
    constexpr int64_t kMostBlocks = 8192;
    const int blocks = static_cast<int>(
        std::clamp<int64_t>((count / 4 + kElementThreads - 1) / kElementThreads, 1, kMostBlocks));
    ApplyKernel<<<blocks, kElementThreads, 0, session_.stream()>>>(op, operands[0], operands[1],
                                                                   to.data, count);
    return ToStatus(cudaGetLastError(), "ApplyKernel");
  }

  absl::StatusOr<double> DotOf(const float* x, const float* y, const Runs& r) {
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    constexpr int64_t kPerBlock = 16 * kSumThreads;
    const auto across =
        static_cast<unsigned>(std::clamp<int64_t>(r.length / kPerBlock, 1, kMostPartialSums));
    const auto down =
        static_cast<unsigned>(std::clamp<int64_t>(kMostPartialSums / across, 1, r.runs));
    DotKernel<<<dim3(across, down), kSumThreads, 0, session_.stream()>>>(x, y, r, sums_.partial());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return sums_.Total(across * down, session_.stream());
  }

  CudaSession& session_;
  Sums sums_;
  SessionCopies copies_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(CudaSession& session) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Sums sums, Sums::Create(session.memory()));
  return std::make_unique<Arithmetic>(session, std::move(sums));
}

int64_t ArithmeticBytes(const ops::Extents& extents) {
  return Sums::kBytes + SessionCopies::StagingBytes(extents.stack);
}

}  // namespace isocenter::cuda
