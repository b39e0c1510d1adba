// Server-sent events: changes of jobs and of the node as they happen.
#include <pthread.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/steady_clock.h"
#include "server/crypto/digests.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/node_json.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

constexpr size_t kMostStreams = 32;
constexpr absl::Duration kBetweenHeartbeats = absl::Seconds(5);

/// Who follows, from the event behind `number`.
struct Follower {
  Request request;
  int64_t number = 0;
  std::unique_ptr<Stream> stream;
};

std::string EventText(absl::string_view name, const Json& data, absl::string_view id = "") {
  std::string text;
  if (!id.empty()) absl::StrAppend(&text, "id: ", id, "\n");
  absl::StrAppend(&text, "event: ", name, "\ndata: ", Dump(data), "\n\n");
  return text;
}

/// One thread tells all followers.
class EventApi {
 public:
  EventApi(const WebEnvironment& environment, Access& access)
      : environment_(environment), access_(access) {}
  /// The feed has been stopped, unless nobody ever followed.
  ~EventApi() {
    if (thread_.joinable()) thread_.join();
  }
  EventApi(const EventApi&) = delete;
  EventApi& operator=(const EventApi&) = delete;

  absl::StatusOr<Response> Open(const Call& call) {
    if (IsFull()) {
      return absl::UnavailableError(
          absl::StrCat("all ", kMostStreams, " places of followers are taken; try again"));
    }
    const std::optional<int64_t> seen = LastSeen(call.request);
    // Before the client reads the lists again: what changes meanwhile comes as an event.
    const int64_t number = seen.value_or(environment_.feed.newest());
    Response response;
    response.Set("Content-Type", "text/event-stream").Set("X-Accel-Buffering", "no");
    response.body =
        EventText("hello", {{"resumed", seen.has_value()}, {"status", Status()}}, IdOf(number));
    response.stream = [this, number, request = call.request](std::unique_ptr<Stream> stream) {
      Add({request, number, std::move(stream)});
    };
    return response;
  }

 private:
  bool IsFull() {
    absl::MutexLock lock(&mutex_);
    return followers_.size() >= kMostStreams;
  }

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

  Json Status() const { return StatusJson(environment_.node.Status(), OffersOf(environment_)); }

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

  /// Others may have taken the last places since it was answered.
  void Add(Follower follower) {
    absl::MutexLock lock(&mutex_);
    if (stopped_ || followers_.size() >= kMostStreams || !Tell(follower)) return;
    followers_.push_back(std::move(follower));
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }

  /// What has happened since it was told last; false: it is gone.
  bool Tell(Follower& follower) const {
    for (const node::FeedEvent& event :
         environment_.feed.Read(follower.number, absl::InfinitePast())) {
      follower.number = event.number;
      if (!follower.stream->Write(TextOf(event))) return false;
    }
    return true;
  }

  /// Whoever has been signed out, or whose token was taken back, sees no more.
  bool ShowLife(Follower& follower) const {
    return access_.Identify(follower.request).ok() &&
           follower.stream->Write(
               EventText("heartbeat", {{"server_time", TimeJson(environment_.clock())}}));
  }

  void Run() {
    pthread_setname_np(pthread_self(), "iso-events");
    int64_t told = environment_.feed.newest();
    absl::Time heartbeat = SteadyNow() + kBetweenHeartbeats;
    while (!environment_.feed.stopped()) {
      const std::vector<node::FeedEvent> news = environment_.feed.Read(told, heartbeat);
      if (!news.empty()) told = news.back().number;
      const bool shows_life = SteadyNow() >= heartbeat;
      if (shows_life) heartbeat = SteadyNow() + kBetweenHeartbeats;
      absl::MutexLock lock(&mutex_);
      std::erase_if(followers_, [&](Follower& follower) {
        return !Tell(follower) || (shows_life && !ShowLife(follower));
      });
    }
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    followers_.clear();
  }

  const WebEnvironment environment_;
  Access& access_;
  const std::string run_ = crypto::RandomToken().substr(0, 8);  // of the server
  absl::Mutex mutex_;
  std::vector<Follower> followers_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // from the first follower on
};

}  // namespace

void AddEventRoutes(const WebEnvironment& environment, Access& access, Router& router) {
  router.Add(
      "GET", "/api/v1/events", Role::kViewer,
      [api = std::make_shared<EventApi>(environment, access)](const Call& call) {
        call.about.query.push_back("events of jobs");
        return api->Open(call);
      },
      audit::Action::kQuery);
}

}  // namespace isocenter::http
