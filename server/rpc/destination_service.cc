#include "server/rpc/destination_service.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/dicom_config.h"
#include "server/rpc/translation/translate.h"

namespace isocenter::rpc {
namespace {

/// Without what is on its way.
std::vector<v1::Destination> DestinationsOf(const v1::DicomNodeConfig& config) {
  std::vector<v1::Destination> destinations;
  for (const v1::DicomDestination& configured : config.destination()) {
    v1::Destination& destination = destinations.emplace_back();
    destination.set_name(config::DestinationName(configured));
    destination.set_storage_commitment(configured.storage_commitment());
    if (configured.has_dicomweb()) {
      destination.set_kind(v1::DESTINATION_KIND_STOW_RS);
      destination.set_address(configured.dicomweb().url());
      continue;
    }
    destination.set_kind(v1::DESTINATION_KIND_C_STORE);
    for (const v1::DicomPeer& peer : config.peer()) {
      if (peer.ae_title() != configured.ae_title()) continue;
      destination.set_address(absl::StrCat(peer.host(), ":", peer.port()));
    }
  }
  return destinations;
}

}  // namespace

DestinationService::DestinationService(const Guard& guard, archive::TransferQueue* queue,
                                       const v1::DicomNodeConfig& config)
    : queue_(queue), destinations_(DestinationsOf(config)) {
  Add(guard, {"ListDestinations", Role::kViewer}, &DestinationService::OnListDestinations);
}

void DestinationService::OnListDestinations(
    UnaryCall<v1::ListDestinationsRequest, v1::ListDestinationsResponse>& call) {
  std::map<std::string, archive::QueueLength> lengths;
  if (queue_ != nullptr) {
    absl::StatusOr<std::map<std::string, archive::QueueLength>> found = queue_->Lengths();
    if (!found.ok()) return call.Answer(found.status());
    lengths = *std::move(found);
  }
  for (const v1::Destination& configured : destinations_) {
    v1::Destination& told = *call.response().add_destination() = configured;
    const archive::QueueLength& length = lengths[configured.name()];
    const auto count = [&](archive::TransferState state) {
      return static_cast<uint32_t>(archive::CountOf(length.counts, state));
    };
    told.set_queued_count(count(archive::TransferState::kQueued));
    told.set_sending_count(count(archive::TransferState::kSending));
    told.set_failed_count(count(archive::TransferState::kFailed));
    told.set_sent_count(count(archive::TransferState::kSent) +
                        count(archive::TransferState::kCommitted));
    told.set_reason(length.reason);
    told.set_attempts(static_cast<uint32_t>(length.attempts));
    if (length.next_try) *told.mutable_next_attempt_time() = TimestampToProto(*length.next_try);
  }
  call.Answer(absl::OkStatus());
}

}  // namespace isocenter::rpc
