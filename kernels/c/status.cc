#include "kernels/c/status.h"

#include <algorithm>
#include <cstring>

namespace isocenter::c {
namespace {

// Longer messages are cut; none is.
constexpr size_t kRoom = 4096;
thread_local char message[kRoom];

}  // namespace

isocenter_status Report(const absl::Status& status) noexcept {
  if (status.ok()) return ISOCENTER_OK;
  const absl::string_view text = status.message();
  const size_t length = std::min(text.size(), kRoom - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
  return static_cast<isocenter_status>(status.code());
}

}  // namespace isocenter::c

const char* isocenter_message(void) { return isocenter::c::message; }
int32_t isocenter_abi(void) { return ISOCENTER_KERNELS_ABI; }
const char* isocenter_version(void) { return ISOCENTER_VERSION; }
