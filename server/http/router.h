// Which handler answers which request, and who may ask it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/access.h"
#include "server/http/transport/http.h"

namespace isocenter::http {

/// A request on its way to a handler.
struct Call {
  const Request& request;
  std::vector<std::string> arguments;  // what stood for each {}
  Caller caller;                       // without name where the route is open and nobody signed in
};

/// An error is answered as such.
using Handler = std::function<absl::StatusOr<Response>(const Call&)>;

class Router {
 public:
  explicit Router(Access& access) : access_(access) {}

  /// `pattern`: "/api/v1/jobs/{}:cancel"; {} stands for one part of the path, without '/' and ':'.
  void Add(std::string method, const std::string& pattern, Role least, Handler handler);
  /// Answers also who has not signed in; checks for itself who may.
  void AddOpen(std::string method, const std::string& pattern, Handler handler);

  /// What is not found, not allowed or not from the page itself is answered as an error.
  Response Answer(const Request& request) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> parts;
    std::optional<Role> least;  // empty: open
    Handler handler;
  };
  absl::StatusOr<Response> Answer(const Route& route, Call call) const;

  Access& access_;
  std::vector<Route> routes_;
};

}  // namespace isocenter::http
