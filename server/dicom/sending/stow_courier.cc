#include "server/dicom/sending/stow_courier.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

using Kind = stow::Outcome::Kind;

StoreAnswer AnswerOf(const stow::Reception& reception) {
  switch (reception.kind) {
    case stow::Reception::Kind::kStored:
      return {StoreVerdict::kStored, ""};
    case stow::Reception::Kind::kRefused:
      // Zero is no reason to refuse anything.
      if (reception.failure_reason != 0) return JudgeStoreStatus(reception.failure_reason);
      return {StoreVerdict::kTryLater, "the destination refuses the instance without a reason"};
    case stow::Reception::Kind::kUnnamed:
      break;
  }
  return {StoreVerdict::kTryLater, "the destination's answer does not name the instance"};
}

}  // namespace

std::vector<StoreAnswer> StowCourier::Carry(std::span<const archive::Outgoing> batch) {
  for (;;) {
    std::vector<stow::Object> objects;
    uint64_t bytes = 0;
    for (const archive::Outgoing& outgoing : batch.first(std::min(batch.size(), most_instances_))) {
      const archive::InstanceRow& row = outgoing.instance;
      std::error_code error;
      const uint64_t more = std::filesystem::file_size(row.file, error);
      if (error && objects.empty()) {
        return {{StoreVerdict::kRefused,
                 absl::StrCat("the stored instance cannot be sent: ", error.message())}};
      }
      if (error || (!objects.empty() && bytes + more > most_bytes_)) break;
      objects.push_back({row.instance.sop_instance_uid, row.file, more});
      bytes += more;
    }
    const size_t count = objects.size();
    const stow::Outcome outcome = stow::Store(destination_, std::move(objects), stopped_);
    if (outcome.kind == Kind::kEach) {
      most_instances_ = std::min<size_t>(2 * most_instances_, kMostInstances);
      std::vector<StoreAnswer> answers;
      for (const stow::Reception& reception : outcome.receptions) {
        answers.push_back(AnswerOf(reception));
        answers.back().retry_after = outcome.retry_after;
      }
      return answers;
    }
    const bool is_refused = outcome.kind == Kind::kRefused || outcome.kind == Kind::kTooLarge;
    if (is_refused && count > 1) {
      if (outcome.kind == Kind::kTooLarge) {
        most_bytes_ = bytes / 2;
      } else {
        most_instances_ = count / 2;
      }
      continue;
    }
    return std::vector<StoreAnswer>(
        count, {.verdict = is_refused ? StoreVerdict::kRefused : StoreVerdict::kTryLater,
                .reason = outcome.reason,
                .retry_after = outcome.retry_after,
                .has_begun = outcome.has_begun});
  }
}

}  // namespace isocenter::dicom
