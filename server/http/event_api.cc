// Server-sent events: changes of jobs and of the node as they happen.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/http/answers.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/node_json.h"
#include "server/roles/secrets.h"

namespace isocenter::http {
namespace {

constexpr int kMostStreams = 32;
constexpr absl::Duration kBetweenHeartbeats = absl::Seconds(5);

/// Counts one stream for as long as it lives.
class Place {
 public:
  explicit Place(std::atomic<int>& open) : open_(open), number_(++open) {}
  ~Place() { --open_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  int number() const { return number_; }

 private:
  std::atomic<int>& open_;
  const int number_;
};

std::string EventText(absl::string_view name, const Json& data, absl::string_view id = "") {
  std::string text;
  if (!id.empty()) absl::StrAppend(&text, "id: ", id, "\n");
  absl::StrAppend(&text, "event: ", name, "\ndata: ", Dump(data), "\n\n");
  return text;
}

class EventApi {
 public:
  EventApi(const WebEnvironment& environment, Access& access)
      : environment_(environment), access_(access) {}

  absl::StatusOr<Response> Open(const Call& call) {
    auto place = std::make_shared<Place>(open_);
    if (place->number() > kMostStreams) {
      return absl::UnavailableError(
          absl::StrCat("all ", kMostStreams, " places of followers are taken; try again"));
    }
    Response response;
    response.Set("Content-Type", "text/event-stream").Set("X-Accel-Buffering", "no");
    response.stream = [this, place, request = call.request](const Sink& sink) {
      Follow(request, sink);
    };
    return response;
  }

 private:
  /// Of the last event that the client has seen; empty: none, or not known any more.
  std::optional<int64_t> LastSeen(const Request& request) const {
    const std::pair<std::string, std::string> id =
        absl::StrSplit(request.Header("last-event-id"), absl::MaxSplits('-', 1));
    int64_t number = 0;
    if (id.first != run_ || !absl::SimpleAtoi(id.second, &number)) return std::nullopt;
    if (number < 0 || !environment_.feed.Knows(number)) return std::nullopt;
    return number;
  }

  std::string IdOf(int64_t number) const { return absl::StrCat(run_, "-", number); }

  Json Status() const {
    return StatusJson(environment_.node.Status(), environment_.transfers != nullptr);
  }

  std::string TextOf(const node::FeedEvent& event) const {
    const std::string id = IdOf(event.number);
    switch (event.kind) {
      case node::FeedEvent::Kind::kJob:
        return EventText("job",
                         JobJson(*event.job, environment_.feed.FramesPerSecond(event.job_id)), id);
      case node::FeedEvent::Kind::kJobRemoved:
        return EventText("job_removed", {{"job_id", event.job_id}}, id);
      case node::FeedEvent::Kind::kNode:
        return EventText("status", Status(), id);
    }
    return "";
  }

  void Follow(const Request& request, const Sink& sink) const {
    const std::optional<int64_t> seen = LastSeen(request);
    // Before the client reads the lists again: what changes meanwhile comes as an event.
    int64_t number = seen.value_or(environment_.feed.newest());
    if (!sink(EventText("hello", {{"resumed", seen.has_value()}, {"status", Status()}},
                        IdOf(number)))) {
      return;
    }
    absl::Time heartbeat = absl::Now() + kBetweenHeartbeats;
    while (!environment_.feed.stopped()) {
      for (const node::FeedEvent& event : environment_.feed.Read(number, heartbeat)) {
        number = event.number;
        if (!sink(TextOf(event))) return;
      }
      if (absl::Now() < heartbeat) continue;
      heartbeat = absl::Now() + kBetweenHeartbeats;
      // Whoever has been signed out, or whose token was taken back, sees no more.
      if (!access_.Identify(request).ok()) return;
      if (!sink(EventText("heartbeat", {{"server_time", TimeJson(absl::Now())}}))) return;
    }
  }

  const WebEnvironment environment_;
  Access& access_;
  const std::string run_ = roles::RandomToken().substr(0, 8);  // of the server
  std::atomic<int> open_{0};
};

}  // namespace

void AddEventRoutes(const WebEnvironment& environment, Access& access, Router& router) {
  router.Add("GET", "/api/v1/events", Role::kViewer,
             [api = std::make_shared<EventApi>(environment, access)](const Call& call) {
               return api->Open(call);
             });
}

}  // namespace isocenter::http
