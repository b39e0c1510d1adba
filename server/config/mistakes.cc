#include "server/config/mistakes.h"

#include "absl/strings/str_join.h"

namespace isocenter::config {

void Mistakes::Add(const absl::Status& refused) {
  if (!refused.ok()) refused_.push_back(refused);
}

absl::Status Mistakes::status() const {
  if (refused_.empty()) return absl::OkStatus();
  return absl::Status(refused_.front().code(),
                      absl::StrJoin(refused_, "\n", [](std::string* out, const absl::Status& each) {
                        out->append(each.message().data(), each.message().size());
                      }));
}

}  // namespace isocenter::config
