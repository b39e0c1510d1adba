#include "server/base/handshake_log.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/base/log.h"

namespace isocenter {

void LogHandshake(absl::string_view endpoint, absl::string_view address, absl::string_view why) {
  ABSL_CONST_INIT static absl::Mutex mutex(absl::kConstInit);
  struct Told {
    int64_t second = 0;
    int64_t suppressed = 0;  // since then
  };
  static auto* const last = new std::map<std::string, Told>();  // threads outlive main
  int64_t suppressed = 0;
  {
    const absl::MutexLock lock(&mutex);
    const int64_t now = absl::ToUnixSeconds(absl::Now());
    Told& told = (*last)[std::string(endpoint)];
    if (told.second == now) {
      ++told.suppressed;
      return;
    }
    suppressed = std::exchange(told, {.second = now}).suppressed;
  }
  spdlog::warn("event=tls_handshake_failed endpoint={} address=\"{}\" why=\"{}\" suppressed={}",
               std::string(endpoint), address.empty() ? "unknown" : std::string(address),
               std::string(why), suppressed);
}

}  // namespace isocenter
