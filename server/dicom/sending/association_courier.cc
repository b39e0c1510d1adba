#include "server/dicom/sending/association_courier.h"

#include <utility>

namespace isocenter::dicom {
namespace {

constexpr int kAnswerSeconds = 120;

}  // namespace

absl::Status AssociationCourier::Open(const std::vector<std::string>& sop_classes) {
  absl::StatusOr<Association> association =
      Association::Request(peer_, node_, sop_classes, interruptor_);
  if (association.ok()) association_.emplace(*std::move(association));
  return association.status();
}

std::vector<StoreAnswer> AssociationCourier::Carry(std::span<const archive::Outgoing> batch) {
  StoreAnswer answer = SendInstance(*association_, peer_, batch.front().instance, kAnswerSeconds);
  if (answer.verdict == StoreVerdict::kTryLater) association_->Release();
  return {std::move(answer)};
}

void AssociationCourier::Close(bool in_order) {
  if (in_order) association_->Release();
  association_.reset();
}

}  // namespace isocenter::dicom
