#include "kernels/rabbitct/image_buffers.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rabbitct {
namespace {

// One alone is slower than the bus.
constexpr int kWorkers = 8;

}  // namespace

absl::StatusOr<ImageBuffers> ImageBuffers::Create(ops::Device& device, int images, Shape3 image) {
  ImageBuffers self;
  self.image_ = image;
  const int count = std::min(images, kMost);
  ISO_ASSIGN_OR_RETURN(self.memory_, device.NewHostMemory(count * image.count() *
                                                          static_cast<int64_t>(sizeof(float))));
  auto* const first = reinterpret_cast<float*>(self.memory_->data());
  for (int i = 0; i < count; ++i) self.pointers_.push_back(first + i * image.count());
  self.taken_.assign(static_cast<size_t>(count), false);
  self.workers_ = std::make_unique<ThreadPool>(std::min(kWorkers, UsableCores()));
  return self;
}

absl::StatusOr<HostView3<const float>> ImageBuffers::Take(std::span<const float> image,
                                                          float weight, int position) {
  const float* const first = pointers_.front();
  const float* const last = pointers_.back() + image_.count();
  const std::less_equal<const float*> at_most;  // of any two pointers
  const bool inside = at_most(first, image.data()) && at_most(image.data() + image.size(), last);
  const auto buffer =
      static_cast<size_t>(inside ? (image.data() - first) / image_.count() : position);
  if (taken_[buffer]) {
    return absl::FailedPreconditionError(
        absl::StrCat("image buffer ", buffer, " was handed over twice within ", count(),
                     " images; legal is each once, read before the first of them is"));
  }
  taken_[buffer] = true;
  float* const to = pointers_[buffer];
  if (inside && image.data() != to) {
    return absl::FailedPreconditionError(
        absl::StrCat("an image begins within image buffer ", buffer, "; legal is its beginning"));
  }
  if (!inside || weight != 1) {
    const auto parts = static_cast<size_t>(workers_->threads());
    workers_->ParallelFor(static_cast<int64_t>(parts), [&](int64_t part, int) {
      const size_t begin = image.size() * static_cast<size_t>(part) / parts;
      const size_t end = image.size() * (static_cast<size_t>(part) + 1) / parts;
      for (size_t i = begin; i < end; ++i) to[i] = weight * image[i];
    });
  }
  return HostView3<const float>(to, image_);
}

}  // namespace isocenter::rabbitct
