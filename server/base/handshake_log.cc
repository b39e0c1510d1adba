#include "server/base/handshake_log.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/base/log.h"

namespace isocenter {

void LogHandshake(absl::string_view endpoint, absl::string_view address, absl::string_view why) {
  ABSL_CONST_INIT static absl::Mutex mutex(absl::kConstInit);
  static auto* const last = new std::map<std::string, int64_t>();  // threads outlive main
  {
    const absl::MutexLock lock(&mutex);
    const int64_t now = absl::ToUnixSeconds(absl::Now());
    int64_t& told = (*last)[std::string(endpoint)];
    if (told == now) return;
    told = now;
  }
  spdlog::warn("event=tls_handshake_failed endpoint={} address=\"{}\" why=\"{}\"",
               std::string(endpoint), address.empty() ? "unknown" : std::string(address),
               std::string(why));
}

}  // namespace isocenter
