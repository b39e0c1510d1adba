#include "server/dicom/scp/places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

// Beyond the associations that are served, this many connections get a proper rejection; more are
// closed at once.
constexpr int kRejectedAtOnce = 16, kRejectedOfAddress = 4;

/// Why a connection is not served; "" where it is.
std::string Refusal(const Occupancy& now, bool is_peer, const NodeOptions& options) {
  const int kept = options.peers.empty() || options.max_associations == 1
                       ? 0
                       : std::max(1, options.max_associations / 4);
  if (now.served >= options.max_associations) {
    return absl::StrCat("all ", options.max_associations, " associations are in use");
  }
  if (now.served_of_address >= options.max_associations_per_address) {
    return absl::StrCat("the ", options.max_associations_per_address,
                        " associations of its address are in use");
  }
  if (!is_peer && now.served_of_others >= options.max_associations - kept) {
    return absl::StrCat("all associations but the ", kept, " that are kept for peers are in use");
  }
  return "";
}

}  // namespace

Admission Admit(const Occupancy& now, bool is_peer, const NodeOptions& options) {
  Admission admission{.reason = Refusal(now, is_peer, options)};
  if (admission.reason.empty()) return admission;
  const bool may_be_told =
      now.rejected < kRejectedAtOnce && now.rejected_of_address < kRejectedOfAddress;
  admission.kind = may_be_told ? Admission::Kind::kReject : Admission::Kind::kClose;
  return admission;
}

}  // namespace isocenter::dicom
