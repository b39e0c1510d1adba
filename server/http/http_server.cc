#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/http/answers.h"
#include "server/http/tls_front.h"
#include "spdlog/spdlog.h"

namespace isocenter::http {
namespace {

constexpr size_t kPiece = 64 << 10;
// Below this a client that takes an answer is taken for one that only holds a thread.
constexpr double kLeastBytesPerSecond = 64 << 10;

const char* ReasonPhrase(int status) {
  const char* phrase = mg_get_response_code_text(nullptr, status);
  return phrase == nullptr ? "" : phrase;
}

}  // namespace

struct HttpServer::Impl {
  HttpOptions options;
  Handler handler;
  mg_context* context = nullptr;
  std::unique_ptr<TlsFront> front;  // null: plain HTTP

  static Impl& Of(const mg_connection* connection) {
    return *static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
  }

  /// What is wrong with it, as an answer; else the request.
  std::optional<Response> Read(mg_connection* connection, Request& request) const {
    const mg_request_info& info = *mg_get_request_info(connection);
    request.method = info.request_method;
    request.remote_address = info.remote_addr;
    if (front != nullptr) {
      const std::optional<TlsPeer> peer = front->Find(info.remote_port);
      if (!peer) return ErrorAnswer(absl::PermissionDeniedError("only through TLS"));
      request.secure = true;
      request.remote_address = peer->address;
      request.certificate_subject = peer->certificate_subject;
    }
    for (int i = 0; i < info.num_headers; ++i) {
      request.headers[absl::AsciiStrToLower(info.http_headers[i].name)] =
          info.http_headers[i].value;
    }
    const char* path = info.local_uri_raw;
    std::optional<std::string> decoded;
    if (path != nullptr) decoded = Decode(path, false);
    auto query = ParseQuery(info.query_string == nullptr ? "" : info.query_string);
    if (!decoded || decoded->empty() || decoded->front() != '/' || !query) {
      return ErrorAnswer(absl::InvalidArgumentError("the address of the request is not legal"));
    }
    request.path = *std::move(decoded);
    request.query = *std::move(query);
    return ReadBody(connection, info, request.body);
  }

  std::optional<Response> ReadBody(mg_connection* connection, const mg_request_info& info,
                                   std::string& body) const {
    const auto too_long = [this] {
      return ErrorAnswer(413,
                         absl::InvalidArgumentError(absl::StrCat("the body is too long; legal are ",
                                                                 options.largest_body, " bytes")));
    };
    if (info.content_length > static_cast<long long>(options.largest_body)) return too_long();
    const absl::Time deadline = absl::Now() + options.patience;
    // Byte for byte: the library would wait for all of a longer piece, however slowly it comes.
    char byte = 0;
    while (mg_read(connection, &byte, 1) == 1) {
      body.push_back(byte);
      if (body.size() > options.largest_body) return too_long();
      if (absl::Now() > deadline) {
        return ErrorAnswer(408, absl::DeadlineExceededError("the body came too slowly"));
      }
    }
    return std::nullopt;
  }

  bool Write(mg_connection* connection, absl::string_view data) const {
    const absl::Time deadline =
        absl::Now() + options.patience +
        absl::Seconds(static_cast<double>(data.size()) / kLeastBytesPerSecond);
    while (!data.empty()) {
      const absl::string_view piece = data.substr(0, kPiece);
      if (mg_write(connection, piece.data(), piece.size()) != static_cast<int>(piece.size()) ||
          absl::Now() > deadline) {
        mg_disable_connection_keep_alive(connection);
        return false;
      }
      data.remove_prefix(piece.size());
    }
    return true;
  }

  void Send(mg_connection* connection, const Request& request, const Response& response) const {
    const bool has_body = response.status != 204 && response.status != 304;
    std::string head =
        absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\n");
    for (const auto& [name, value] : response.headers) {
      absl::StrAppend(&head, name, ": ", value, "\r\n");
    }
    if (response.stream) {
      mg_disable_connection_keep_alive(connection);
      absl::StrAppend(&head, "Connection: close\r\n\r\n");
      if (!Write(connection, head) || request.method == "HEAD") return;
      response.stream([&](absl::string_view data) { return Write(connection, data); });
      return;
    }
    if (has_body) absl::StrAppend(&head, "Content-Length: ", response.body.size(), "\r\n");
    absl::StrAppend(&head, "\r\n");
    if (has_body && request.method != "HEAD") head += response.body;
    Write(connection, head);
  }

  static int OnRequest(mg_connection* connection) {
    const Impl& impl = Of(connection);
    Request request;
    Response response;
    if (std::optional<Response> wrong = impl.Read(connection, request)) {
      // What is left of the request would be taken for the next one.
      mg_disable_connection_keep_alive(connection);
      response = *std::move(wrong);
      response.Set("Connection", "close");
      AddSecurityHeaders(request.secure, response);
    } else {
      response = impl.handler(request);
    }
    impl.Send(connection, request, response);
    return response.status;
  }

  static int OnMessage(const mg_connection*, const char* message) {
    // Aborted handshakes and the like: what any client can cause.
    spdlog::debug("event=http_library message=\"{}\"", message);
    return 1;
  }
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options,
                                                              Handler handler) {
  mg_init_library(0);
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->handler = std::move(handler);
  std::string address = impl->options.address;
  if (impl->options.tls != nullptr) {
    ISO_ASSIGN_OR_RETURN(impl->front, TlsFront::Listen({.address = address,
                                                        .context = std::move(impl->options.tls),
                                                        .threads = impl->options.threads,
                                                        .patience = impl->options.patience}));
    address = "127.0.0.1:0";
  }
  constexpr absl::string_view kLocalhost = "localhost:";
  if (absl::StartsWith(address, kLocalhost)) {
    address = absl::StrCat("127.0.0.1:", address.substr(kLocalhost.size()));
  }
  const std::string threads = absl::StrCat(impl->options.threads);
  const std::string patience = absl::StrCat(absl::ToInt64Milliseconds(impl->options.patience));
  const char* const settings[] = {"listening_ports",
                                  address.c_str(),
                                  "num_threads",
                                  threads.c_str(),
                                  "request_timeout_ms",
                                  patience.c_str(),
                                  "enable_keep_alive",
                                  "yes",
                                  "keep_alive_timeout_ms",
                                  "5000",
                                  "max_request_size",
                                  "16384",
                                  "decode_url",
                                  "no",
                                  "tcp_nodelay",
                                  "1",
                                  nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = Impl::OnRequest;
  callbacks.log_message = Impl::OnMessage;
  impl->context = mg_start(&callbacks, impl.get(), const_cast<const char**>(settings));
  if (impl->context == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("web.address is ", impl->options.address, ", which cannot be listened on"));
  }
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(impl)));
  if (server->impl_->front != nullptr) server->impl_->front->Serve(server->plain_port());
  return server;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

int HttpServer::port() const {
  return impl_->front == nullptr ? plain_port() : impl_->front->port();
}

int HttpServer::plain_port() const {
  mg_server_port port{};
  return mg_get_server_ports(impl_->context, 1, &port) == 1 ? port.port : 0;
}

HttpServer::~HttpServer() {
  if (impl_->front != nullptr) impl_->front->Stop();
  // The library looks every two seconds whether it is to stop, and whenever somebody connects.
  const int served = plain_port();
  std::thread stopping([this] { mg_stop(impl_->context); });
  constexpr timespec kUntilItStops = {.tv_sec = 0, .tv_nsec = 10'000'000};
  nanosleep(&kUntilItStops, nullptr);
  // Should the knock fail, stopping takes its two seconds.
  if (const int knock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); knock >= 0) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(served))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    [[maybe_unused]] const int failed =
        connect(knock, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    close(knock);
  }
  stopping.join();
}

}  // namespace isocenter::http
