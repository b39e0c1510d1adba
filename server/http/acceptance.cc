#include "server/http/acceptance.h"

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"

namespace isocenter::http {
namespace {

/// The one who waits may have left.
struct Told {
  absl::Notification done;
  absl::StatusOr<jobs::JobSnapshot> job = absl::UnknownError("");
};

}  // namespace

absl::StatusOr<jobs::JobSnapshot> AwaitAcceptance(Places& places, absl::Duration longest,
                                                  const std::string& late,
                                                  const std::function<void(Accepted)>& begin) {
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<void> place, places.Take());
  const auto told = std::make_shared<Told>();
  begin([told, place = std::move(place)](absl::StatusOr<jobs::JobSnapshot> job) mutable {
    place.reset();
    told->job = std::move(job);
    told->done.Notify();
  });
  if (told->done.WaitForNotificationWithTimeout(longest)) return told->job;
  return absl::UnavailableError(late);
}

}  // namespace isocenter::http
