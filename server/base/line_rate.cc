#include "server/base/line_rate.h"

#include <utility>

namespace isocenter {

std::optional<int64_t> LineRate::Admit(absl::string_view subject, absl::Time now) {
  const int64_t second = absl::ToUnixSeconds(now);
  const absl::MutexLock lock(&mutex_);
  if (told_.size() >= kSubjects) {
    std::erase_if(told_, [second](const auto& entry) { return entry.second.second != second; });
  }
  const auto [entry, is_new] = told_.try_emplace(std::string(subject), Told{.second = second});
  Told& told = entry->second;
  if (is_new) return 0;
  if (told.second == second) {
    ++told.suppressed;
    return std::nullopt;
  }
  return std::exchange(told, {.second = second}).suppressed;
}

}  // namespace isocenter
