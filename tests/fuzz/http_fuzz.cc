// What a browser sends, behind the HTTP library: the target, the headers that we take apart and the
// body, up to a NUL each.
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/http/parameters.h"
#include "server/http/transport/http.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  http::Request request;
  const absl::string_view target = input.TakeText();
  const size_t question = std::min(target.find('?'), target.size());
  for (const bool plus : {false, true}) {
    const auto path = http::Decode(target.substr(0, question), plus);
    fuzz::Require(!path || path->find('\0') == std::string::npos, "a decoded text has no NUL");
  }
  auto query = http::ParseQuery(target.substr(std::min(question + 1, target.size())));
  if (query) request.query = *std::move(query);
  for (const char* name : {"accept-encoding", "cookie", "if-none-match"}) {
    request.headers[name] = std::string(input.TakeText());
  }
  request.body = std::string(input.TakeRest());

  (void)request.AcceptsGzip();
  (void)request.Cookie("isocenter_session");
  (void)http::Matches(request.Header("if-none-match"), "\"tag\"");
  const auto page_size = http::IntegerParameter(request, "page_size", 1, 1000, 100);
  fuzz::Require(!page_size.ok() || (*page_size >= 1 && *page_size <= 1000), "1 to 1000 is legal");
  const auto level = http::IntegerOf("level", request.body, 1, 3);
  fuzz::Require(!level.ok() || (*level >= 1 && *level <= 3), "1 to 3 is legal");
  (void)http::FilterOf(request);
  if (const auto body = http::BodyOf(request, {"token"}); body.ok())
    (void)http::TextOf(*body, "token");
  const auto cursor = http::DecodePageToken(request);
  if (!cursor.ok()) return 0;
  const std::string token = http::EncodePageToken(*cursor, request);
  std::erase_if(request.query, [](const auto& pair) { return pair.first == "page_token"; });
  request.query.emplace_back("page_token", token);
  const auto again = http::DecodePageToken(request);
  fuzz::Require(again.ok() && again->id == cursor->id && again->create_time == cursor->create_time,
                "a page token leads to where it came from");
  return 0;
}
