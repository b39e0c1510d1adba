// Which handler answers which request, and who may ask it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/audit/event.h"
#include "server/http/access.h"
#include "server/http/transport/http.h"
#include "server/jobs/job_table.h"

namespace isocenter::http {

/// A request on its way to a handler.
struct Call {
  const Request& request;
  std::vector<std::string> arguments;  // what stood for each {}
  Caller caller;                       // without name where the route is open and nobody signed in
  audit::Event& about;  // what the audit trail is to know besides who, what and whose
};

/// An error is answered as such.
using Handler = std::function<absl::StatusOr<Response>(const Call&)>;

class Router {
 public:
  /// `recorder`: may be null. All must outlive this.
  Router(Access& access, const jobs::JobTable& table, audit::Recorder* recorder)
      : access_(access), table_(table), recorder_(recorder) {}

  /// `pattern`: "/api/v1/jobs/{}:cancel"; {} stands for one part of the path, without '/' and ':',
  /// and behind /jobs/ for a job. `action`: what it is in the audit trail; empty: only callers that
  /// are turned away are recorded.
  void Add(std::string method, const std::string& pattern, Role least, Handler handler,
           std::optional<audit::Action> action = std::nullopt);
  /// Answers also who has not signed in; checks for itself who may.
  void AddOpen(std::string method, const std::string& pattern, Handler handler);

  /// What is not found, not allowed or not from the page itself is answered as an error.
  Response Answer(const Request& request) const;
  /// Records a request that is not for this server.
  void RecordMisdirected(const Request& request, const absl::Status& why) const;

 private:
  struct Route {
    std::string method, pattern;
    std::vector<std::string> parts;  // of the pattern
    std::optional<Role> least;       // empty: open
    Handler handler;
    std::optional<audit::Action> action;
    bool names_job;  // the first {}
  };
  absl::StatusOr<Response> Answer(const Route& route, Call call) const;
  /// Whether the caller may.
  absl::Status Admit(const Route& route, Call& call) const;
  /// `job_id`: that of a job that is not known, or empty.
  void Record(audit::Action action, const Call& call, const jobs::JobSnapshot& job,
              const std::string& job_id, const absl::Status& outcome) const;
  void RecordTurnedAway(const Route& route, const Call& call, const jobs::JobSnapshot& job,
                        const absl::Status& why) const;

  Access& access_;
  const jobs::JobTable& table_;
  audit::Recorder* const recorder_;
  std::vector<Route> routes_;
};

}  // namespace isocenter::http
