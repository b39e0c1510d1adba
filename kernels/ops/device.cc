#include "kernels/ops/device.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/ops/device_lost.h"
#include "kernels/ops/session.h"

namespace isocenter::ops {
namespace {

class PlainHostMemory final : public HostMemory {
 public:
  explicit PlainHostMemory(std::unique_ptr<std::byte[]> memory) : memory_(std::move(memory)) {}
  std::byte* data() override { return memory_.get(); }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Device::NewSession() {
  return NewSession(SessionOptions{});
}

absl::StatusOr<std::unique_ptr<HostMemory>> Device::NewHostMemory(int64_t bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", BytesText(bytes), " of host memory"));
  }
  return std::make_unique<PlainHostMemory>(std::move(memory));
}

absl::Status Device::Break() {
  return DeviceLostError(absl::StrCat("the ", backend(), " device was broken on request"));
}

}  // namespace isocenter::ops
