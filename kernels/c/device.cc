#include "kernels/c/device.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/backends.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/c/arguments.h"
#include "kernels/c/status.h"

namespace isocenter::c {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostOrdinal = 63;

absl::StatusOr<std::unique_ptr<ops::Device>> Open(absl::string_view name,
                                                  ops::DeviceLimits limits) {
  const size_t colon = name.find(':');
  const absl::string_view backend = name.substr(0, colon);
  if (colon != absl::string_view::npos) {
    const absl::string_view number = name.substr(colon + 1);
    if (!absl::SimpleAtoi(number, &limits.ordinal) || limits.ordinal < 0 ||
        limits.ordinal > kMostOrdinal) {
      return absl::InvalidArgumentError(absl::StrCat("device '", name, "': its number is '", number,
                                                     "'; legal is 0 to ", kMostOrdinal));
    }
  }
  if (!backend.empty()) return Backends().OpenDevice(backend, limits);
  ISO_ASSIGN_OR_RETURN(ChosenDevices chosen,
                       OpenDevices(backend, {.host = limits, .own_memory = limits}));
  return std::move(chosen.devices[0]);
}

}  // namespace

OpenDevice::OpenDevice(std::unique_ptr<ops::Device> device)
    : device_(std::move(device)),
      owner_(getpid()),
      description_(device_->description()),
      backend_(device_->backend()) {}

OpenDevice::~OpenDevice() {
  if (foreign()) (void)device_.release();
}

bool OpenDevice::foreign() const { return getpid() != owner_; }

absl::Status OpenDevice::CheckOwn() const {
  if (!foreign()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the device was opened by process ", owner_,
                                                    ", of which this one, ", getpid(),
                                                    ", is a child; open one here"));
}

absl::Status CheckMemory(absl::string_view what, const ops::Device& device, int64_t device_bytes,
                         int64_t host_bytes) {
  const int64_t limit = device.limits().memory_bytes;
  if (limit > 0 && device_bytes > limit) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs ", BytesText(device_bytes),
                                                     " of the device's memory; the limit is ",
                                                     BytesText(limit)));
  }
  if (!device.traits().own_memory) host_bytes += device_bytes;
  return CheckAvailableMemory(what, host_bytes);
}

}  // namespace isocenter::c

using isocenter::c::Call;

const char* isocenter_backends(void) {
  static const std::string* const names = new std::string(
      absl::StrJoin(isocenter::Backends().devices, " ",
                    [](std::string* out, const auto& entry) { out->append(entry.first); }));
  return names->c_str();
}

isocenter_status isocenter_device_open(const char* name, int32_t threads, int64_t memory_bytes,
                                       isocenter_device** device) {
  return Call([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("device", device));
    ISO_RETURN_IF_ERROR(
        isocenter::c::CheckRange<int32_t>("threads", threads, 0, isocenter::c::kMostThreads));
    ISO_RETURN_IF_ERROR(isocenter::c::CheckRange<int64_t>("memory_bytes", memory_bytes, 0,
                                                          std::numeric_limits<int64_t>::max()));
    ISO_ASSIGN_OR_RETURN(auto opened,
                         isocenter::c::Open(isocenter::c::TextOf(name),
                                            {.memory_bytes = memory_bytes, .threads = threads}));
    *device =
        new isocenter_device{std::make_shared<const isocenter::c::OpenDevice>(std::move(opened))};
    return absl::OkStatus();
  });
}

const char* isocenter_device_description(const isocenter_device* device) {
  return device == nullptr ? "" : device->open->description().c_str();
}

const char* isocenter_device_backend(const isocenter_device* device) {
  return device == nullptr ? "" : device->open->backend().c_str();
}

void isocenter_device_close(isocenter_device* device) { delete device; }
