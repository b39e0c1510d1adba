#include "server/http/transport/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/crypto/handshake_failure.h"
#include "server/crypto/server_context.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// Below this a client that takes an answer is taken for one that only holds a connection.
constexpr double kLeastBytesPerSecond = 64 << 10;
// Of a stream, that its client has not taken yet.
constexpr size_t kMostBytesAhead = 4 << 20;

/// Of its body; empty: not known before it is made.
std::optional<int64_t> LengthOf(const Response& response) {
  if (response.long_body != nullptr) return response.long_body->bytes();
  return static_cast<int64_t>(response.body.size());
}

/// `framing`: the header that says where the body ends; empty: nothing does.
std::string HeadOf(const Response& response, absl::string_view framing, bool closes) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(response.status));
  std::string head = absl::StrCat("HTTP/1.1 ", response.status, " ",
                                  absl::string_view(reason.data(), reason.size()), "\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&head, name, ": ", value, "\r\n");
  }
  return absl::StrCat(head, framing, closes ? "Connection: close\r\n\r\n" : "\r\n");
}

// How long a connection may wait for a request, in patiences. Browsers open some in advance and
// keep them; one that ends while a request is on its way to it is an error on the page. Places run
// out no sooner for it: who comes when all are taken gets the one that has been silent for longest.
constexpr int kIdlePatiences = 12;

}  // namespace

/// Tells the connection, whose thread does the rest.
class Connection::OpenStream : public Stream {
 public:
  explicit OpenStream(std::shared_ptr<Door> door) : door_(std::move(door)) {}
  ~OpenStream() override { Tell(""); }
  bool Write(std::string text) override { return Tell(std::move(text)); }

 private:
  bool Tell(std::string text) {
    absl::MutexLock lock(&door_->mutex);
    Connection* const connection = door_->connection;
    if (connection == nullptr) return false;
    asio::post(connection->socket_.get_executor(),
               [self = connection->shared_from_this(), text = std::move(text)]() mutable {
                 self->SendMore(std::move(text));
               });
    return true;
  }

  const std::shared_ptr<Door> door_;
};

Connection::Connection(Tcp::socket socket, std::string address, asio::ssl::context* tls,
                       const Limits& limits, Host& host)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      address_(std::move(address)),
      limits_(limits),
      host_(host),
      door_(std::make_shared<Door>()),
      reader_(limits.largest_body) {
  if (tls != nullptr) tls_.emplace(socket_, *tls);
  absl::MutexLock lock(&door_->mutex);
  door_->connection = this;
}

std::unique_ptr<Stream> Connection::NewStream() { return std::make_unique<OpenStream>(door_); }

void Connection::Begin() {
  if (!tls_) {
    Enter(Stage::kIdle, kIdlePatiences * limits_.patience);
    Read();
    return;
  }
  Enter(Stage::kHandshake, limits_.patience);
  socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](ErrorCode error) {
    if (self->closed_) return;
    if (error) return self->Close();
    if (!self->SpeaksPlainly()) return self->Handshake();
    // Who asks for http://HOST:PORT has forgotten an s, and would learn nothing from a closed
    // connection.
    self->tls_.reset();
    self->host_.OnHandshakeFailed(*self, "the client speaks HTTP without TLS");
    self->Refuse(ErrorAnswer(
        400, absl::InvalidArgumentError("this port speaks HTTPS; legal are addresses that begin "
                                        "with https://")));
  });
}

bool Connection::SpeaksPlainly() {
  // A TLS client begins with a record of the handshake, 0x16 (RFC 8446, 5.1), HTTP with a method.
  char first = 0;
  ErrorCode error;
  const size_t bytes =
      socket_.receive(asio::buffer(&first, 1), asio::socket_base::message_peek, error);
  return !error && bytes == 1 && absl::ascii_isupper(static_cast<unsigned char>(first));
}

void Connection::Handshake() {
  tls_->async_handshake(
      asio::ssl::stream_base::server, [self = shared_from_this()](ErrorCode error) {
        if (error) {
          // A client that only goes away is none to tell of.
          if (error.category() == asio::error::get_ssl_category()) {
            self->host_.OnHandshakeFailed(*self, crypto::HandshakeFailure(error.message()));
          }
          return self->Close();
        }
        self->certificate_subject_ = crypto::SubjectOfPeer(self->tls_->native_handle());
        self->Enter(Stage::kIdle, kIdlePatiences * self->limits_.patience);
        self->Read();
      });
}

void Connection::Enter(Stage stage, absl::Duration limit) {
  if (closed_) return;
  stage_ = stage;
  since_ = Clock::now();
  timer_.expires_at(limit == absl::InfiniteDuration() ? Clock::time_point::max()
                                                      : since_ + absl::ToChronoNanoseconds(limit));
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    // It may have been set anew while this was on its way.
    if (!error && self->timer_.expiry() <= Clock::now()) self->OnLate();
  });
}

void Connection::OnLate() {
  if (stage_ != Stage::kIdle && stage_ != Stage::kHeader && stage_ != Stage::kBody) {
    return Close();
  }
  late_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);  // goes on in OnRead
}

void Connection::Read() {
  if (closed_) return;
  auto received = [self = shared_from_this()](ErrorCode error, size_t bytes) {
    self->OnRead(error, bytes);
  };
  if (tls_) {
    tls_->async_read_some(asio::buffer(received_), std::move(received));
  } else {
    socket_.async_read_some(asio::buffer(received_), std::move(received));
  }
}

void Connection::OnRead(ErrorCode error, size_t bytes) {
  if (closed_) return;
  if (late_ && stage_ == Stage::kBody) {
    return Refuse(ErrorAnswer(408, absl::DeadlineExceededError("the body came too slowly")));
  }
  if (late_) return End();
  if (error) return Close();
  bytes_.append(received_.data(), bytes);
  Advance();
}

void Connection::Advance() {
  const bool begun = !bytes_.empty();
  switch (reader_.Read(bytes_)) {
    case RequestReader::State::kHeader:
      if (begun && stage_ != Stage::kHeader) Enter(Stage::kHeader, limits_.patience);
      return Read();
    case RequestReader::State::kBody:
      if (stage_ != Stage::kBody) Enter(Stage::kBody, limits_.patience);
      return Read();
    case RequestReader::State::kRefused:
      return Refuse(reader_.TakeRefusal());
    case RequestReader::State::kComplete:
      break;
  }
  Enter(Stage::kAnswering, absl::InfiniteDuration());
  Request request = reader_.TakeRequest();
  request.remote_address = address_;
  request.secure = tls_.has_value();
  request.certificate_subject = certificate_subject_;
  head_only_ = request.method == "HEAD";
  ending_ |= !reader_.keeps_alive();
  host_.Ask(shared_from_this(), std::move(request));
}

void Connection::Refuse(Response response) {
  // What is left of the request would be taken for the next one.
  ending_ = true;
  head_only_ = false;
  AddSecurityHeaders(tls_.has_value(), response);
  Send(std::move(response), false);
}

void Connection::Send(Response response, bool streams) {
  if (closed_) return;
  if (streams && finishing_) return Close();
  const bool has_body = response.status != 204 && response.status != 304;
  streams_ = streams && !head_only_;
  const std::optional<int64_t> length = LengthOf(response);
  chunked_ = !length && reader_.takes_chunks();
  ending_ |= streams || (!length && !chunked_);
  const std::string framing = !has_body || streams ? ""
                              : length   ? absl::StrCat("Content-Length: ", *length, "\r\n")
                              : chunked_ ? "Transfer-Encoding: chunked\r\n"
                                         : "";
  std::string text = HeadOf(response, framing, ending_);
  if (has_body && !head_only_) {
    text += response.body;
    long_body_ = std::move(response.long_body);
    missing_ = long_body_ != nullptr ? length.value_or(0) : 0;
    open_ended_ = !length;
  }
  Write(std::move(text));
}

void Connection::SendPiece(absl::StatusOr<std::string> piece) {
  if (closed_) return;
  // What was promised cannot be kept: only the end of the connection says so.
  if (open_ended_ && piece.ok()) return SendOpenEnded(*std::move(piece));
  if (!piece.ok() || piece->empty() || static_cast<int64_t>(piece->size()) > missing_) {
    return Close();
  }
  missing_ -= static_cast<int64_t>(piece->size());
  Write(*std::move(piece));
}

void Connection::SendMore(std::string text) {
  if (closed_) return;
  streams_ = !text.empty();
  more_ += text;
  if (more_.size() > kMostBytesAhead) return Close();
  if (stage_ == Stage::kStreaming) WriteMore();
}

void Connection::SendOpenEnded(std::string piece) {
  open_ended_ = !piece.empty();
  if (chunked_) {
    // The chunk of no bytes is the last one (RFC 9112, 7.1).
    return Write(absl::StrCat(absl::Hex(piece.size()), "\r\n", piece, "\r\n"));
  }
  if (piece.empty()) return OnWritten({});
  Write(std::move(piece));
}

void Connection::Write(std::string text) {
  Enter(Stage::kWriting,
        limits_.patience + absl::Seconds(static_cast<double>(text.size()) / kLeastBytesPerSecond));
  written_ = std::move(text);
  auto done = [self = shared_from_this()](ErrorCode error, size_t) { self->OnWritten(error); };
  if (tls_) {
    asio::async_write(*tls_, asio::buffer(written_), std::move(done));
  } else {
    asio::async_write(socket_, asio::buffer(written_), std::move(done));
  }
  host_.OnWriting(shared_from_this());
}

void Connection::WriteMore() {
  if (!more_.empty()) return Write(std::exchange(more_, {}));
  if (!streams_) return End();
  Enter(Stage::kStreaming, absl::InfiniteDuration());
}

void Connection::OnWritten(ErrorCode error) {
  if (closed_) return;
  if (error) return Close();
  written_.clear();
  if (missing_ > 0 || open_ended_) {
    // Whoever makes it holds no place of those that wait for their client.
    Enter(Stage::kAnswering, absl::InfiniteDuration());
    return host_.AskMore(shared_from_this(), long_body_);
  }
  long_body_.reset();
  if (ending_) return WriteMore();
  Enter(Stage::kIdle, kIdlePatiences * limits_.patience);
  Advance();
}

void Connection::End() {
  Enter(Stage::kEnding, limits_.patience);
  if (!tls_) return AwaitEnd();
  tls_->async_shutdown([self = shared_from_this()](ErrorCode) { self->AwaitEnd(); });
}

void Connection::AwaitEnd() {
  if (closed_) return;
  ErrorCode ignored;
  socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  socket_.async_read_some(asio::buffer(received_),
                          [self = shared_from_this()](ErrorCode error, size_t) {
                            if (error) return self->Close();
                            self->AwaitEnd();
                          });
}

void Connection::Finish() {
  finishing_ = ending_ = true;
  if (long_body_ != nullptr) return Close();  // it may take longer than anybody waits
  if (stage_ == Stage::kAnswering) return;
  if (stage_ == Stage::kWriting && !streams_) return Enter(Stage::kWriting, limits_.patience);
  Close();
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  {
    absl::MutexLock lock(&door_->mutex);
    door_->connection = nullptr;
  }
  timer_.cancel();
  ErrorCode ignored;
  socket_.close(ignored);
  host_.OnClosed(shared_from_this());
}

std::optional<Connection::Turn> Connection::Waiting() const {
  if (stage_ == Stage::kAnswering || stage_ == Stage::kStreaming) return std::nullopt;
  return Turn(stage_ == Stage::kWriting, since_);
}

}  // namespace isocenter::http
