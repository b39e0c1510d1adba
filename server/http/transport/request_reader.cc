#include "server/http/transport/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

namespace beast = boost::beast::http;

template <typename Text>
absl::string_view View(const Text& text) {
  return {text.data(), text.size()};
}

}  // namespace

struct RequestReader::Parser : beast::request_parser<beast::string_body> {
  explicit Parser(size_t most_body_bytes) {
    eager(true);
    header_limit(kMostHeaderBytes);
    body_limit(most_body_bytes);
  }
};

RequestReader::RequestReader(size_t most_body_bytes)
    : most_body_bytes_(most_body_bytes), parser_(std::make_unique<Parser>(most_body_bytes)) {}

RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::Read(std::string& bytes) {
  boost::system::error_code error;
  while (!bytes.empty() && !parser_->is_done() && !error) {
    bytes.erase(0, parser_->put(boost::asio::buffer(bytes), error));
  }
  if (error == beast::error::body_limit) {
    return Refuse(413,
                  absl::StrCat("the body is too long; legal are ", most_body_bytes_, " bytes"));
  }
  if (error == beast::error::header_limit) {
    return Refuse(431,
                  absl::StrCat("the header is too long; legal are ", kMostHeaderBytes, " bytes"));
  }
  // What comes between pieces of a body has no limit of its own.
  const bool endless = !parser_->is_done() && bytes.size() > kMostHeaderBytes;
  if (endless || (error && error != beast::error::need_more)) {
    return Refuse(400, "the request is not legal HTTP");
  }
  if (parser_->is_done()) return Complete();
  return parser_->is_header_done() ? State::kBody : State::kHeader;
}

RequestReader::State RequestReader::Refuse(int status, const std::string& message) {
  refusal_ = ErrorAnswer(status, absl::InvalidArgumentError(message));
  return State::kRefused;
}

RequestReader::State RequestReader::Complete() {
  auto& message = parser_->get();
  request_ = {.method = std::string(View(message.method_string()))};
  takes_chunks_ = message.version() == 11;
  keeps_alive_ = takes_chunks_ && message.keep_alive();
  for (const auto& field : message) {
    request_.headers[absl::AsciiStrToLower(View(field.name_string()))] =
        std::string(View(field.value()));
  }
  const std::pair<absl::string_view, absl::string_view> target =
      absl::StrSplit(View(message.target()), absl::MaxSplits('?', 1));
  std::optional<std::string> path = Decode(target.first, false);
  auto query = ParseQuery(target.second);
  if (!path || path->empty() || path->front() != '/' || !query) {
    return Refuse(400, "the address of the request is not legal");
  }
  request_.path = *std::move(path);
  request_.query = *std::move(query);
  request_.body = std::move(message.body());
  return State::kComplete;
}

Request RequestReader::TakeRequest() {
  parser_ = std::make_unique<Parser>(most_body_bytes_);
  return std::move(request_);
}

Response RequestReader::TakeRefusal() { return std::move(refusal_); }

}  // namespace isocenter::http
