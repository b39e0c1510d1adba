#include "server/base/handshake_log.h"

#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "server/base/line_rate.h"
#include "server/base/log.h"

namespace isocenter {

void LogHandshake(absl::string_view endpoint, absl::string_view address, absl::string_view why) {
  static auto* const rate = new LineRate();  // threads outlive main
  const std::optional<int64_t> suppressed = rate->Admit(endpoint, absl::Now());
  if (!suppressed) return;
  spdlog::warn("event=tls_handshake_failed endpoint={} address=\"{}\" why=\"{}\" suppressed={}",
               std::string(endpoint), address.empty() ? "unknown" : std::string(address),
               std::string(why), *suppressed);
}

}  // namespace isocenter
