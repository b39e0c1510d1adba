#include "server/daemon/sending.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/dicom/objects/study_context.h"

namespace isocenter::daemon {
namespace {

archive::ResultRole RoleFromProto(int role) {
  switch (role) {
    case v1::RESULT_ROLE_MASK:
      return archive::ResultRole::kMask;
    case v1::RESULT_ROLE_FILL:
      return archive::ResultRole::kFill;
    case v1::RESULT_ROLE_SUBTRACTION:
      return archive::ResultRole::kSubtraction;
    case v1::RESULT_ROLE_REFINEMENT:
      return archive::ResultRole::kRefinement;
    default:
      return archive::ResultRole::kSingle;
  }
}

archive::Route RouteOf(const v1::DicomDestination& destination) {
  archive::Route route{.destination = {.ae_title = destination.ae_title(),
                                       .storage_commitment = destination.storage_commitment(),
                                       .sop_classes = {}},
                       .automatic = !destination.on_request_only(),
                       .protocols = {destination.protocol().begin(), destination.protocol().end()},
                       .roles = {}};
  for (const int role : destination.role()) route.roles.insert(RoleFromProto(role));
  for (const int form : destination.form()) {
    route.destination.sop_classes.insert(dicom::SopClassUidOf(
        form == v1::DICOM_FORM_XRAY_3D ? dicom::Form::kXray3d : dicom::Form::kCtSeries));
  }
  return route;
}

}  // namespace

std::vector<archive::Route> RoutesOf(const v1::DicomNodeConfig& config) {
  std::vector<archive::Route> routes;
  for (const v1::DicomDestination& destination : config.destination()) {
    routes.push_back(RouteOf(destination));
  }
  return routes;
}

absl::StatusOr<std::unique_ptr<dicom::Sender>> StartSender(const v1::DicomNodeConfig& config,
                                                           const dicom::NodeOptions& node,
                                                           archive::Archive& archive,
                                                           metrics::Metrics& metrics) {
  dicom::SenderOptions options{.node = node};
  for (const v1::DicomDestination& destination : config.destination()) {
    const auto peer = std::ranges::find_if(node.peers, [&](const dicom::Peer& candidate) {
      return candidate.ae_title == destination.ae_title();
    });
    options.destinations.push_back(
        {.peer = *peer,
         .route = RouteOf(destination),
         .max_associations = static_cast<int>(destination.max_associations()),
         .first_retry = absl::Seconds(destination.first_retry_seconds()),
         .longest_retry = absl::Seconds(destination.longest_retry_seconds()),
         .commitment_timeout = absl::Seconds(destination.commitment_seconds())});
  }
  return dicom::Sender::Start(std::move(options), archive,
                              [&metrics](const std::string& destination, dicom::SendEvent event) {
                                metrics.OnDicomSend(destination, dicom::Name(event));
                              });
}

std::vector<metrics::SendQueue> SendQueues(archive::TransferQueue& queue) {
  std::vector<metrics::SendQueue> shown;
  const auto lengths = queue.Lengths();
  if (!lengths.ok()) return shown;
  const absl::Time now = absl::Now();
  for (const auto& [destination, length] : *lengths) {
    metrics::SendQueue& row = shown.emplace_back();
    row.destination = destination;
    for (const archive::TransferState state :
         {archive::TransferState::kQueued, archive::TransferState::kSending,
          archive::TransferState::kSent, archive::TransferState::kCommitted,
          archive::TransferState::kFailed, archive::TransferState::kSkipped}) {
      const auto count = length.counts.find(state);
      row.instances.emplace_back(std::string(archive::Name(state)),
                                 count == length.counts.end() ? 0 : count->second);
    }
    if (length.oldest) {
      row.oldest_seconds = std::max(0.0, absl::ToDoubleSeconds(now - *length.oldest));
    }
  }
  return shown;
}

}  // namespace isocenter::daemon
