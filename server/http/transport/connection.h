// One connection of the HTTP server. Includes the library's headers: for the server's own files
// only.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/http/transport/http.h"
#include "server/http/transport/request_reader.h"

namespace isocenter::http {

using Tcp = boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

/// Reads a request, has it answered, writes the answer, and so on until one of both ends it. All is
/// done by the one thread of its io_context; at any time it waits for one thing, until a deadline.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// The server; outlives its connections.
  class Host {
   public:
    virtual ~Host() = default;
    /// Has the request answered: `connection` is sent the response.
    virtual void Ask(std::shared_ptr<Connection> connection, Request request) = 0;
    /// Has the next piece made: `connection` is sent it.
    virtual void AskMore(std::shared_ptr<Connection> connection, std::shared_ptr<Body> body) = 0;
    /// More is to be written.
    virtual void OnWriting(const std::shared_ptr<Connection>& connection) = 0;
    virtual void OnClosed(const std::shared_ptr<Connection>& connection) = 0;
    /// TLS was refused, by the client or to it.
    virtual void OnHandshakeFailed(const Connection& connection, const std::string& why) = 0;
  };
  struct Limits {
    size_t largest_body;
    absl::Duration patience;
  };

  /// `tls` null: plain.
  Connection(Tcp::socket socket, std::string address, boost::asio::ssl::context* tls,
             const Limits& limits, Host& host);

  void Begin();
  /// The answer to what was asked; it `streams`: more of it follows.
  void Send(Response response, bool streams);
  /// The next piece of a long body.
  void SendPiece(absl::StatusOr<std::string> piece);
  /// What follows; an empty text is the end.
  void SendMore(std::string text);
  /// A request under way is answered; then, or at once, it closes.
  void Finish();
  void Close();

  const std::string& address() const { return address_; }
  /// Since when it has waited for its client. The least of all may be closed in favour of another:
  /// first those that say nothing, then those that do not take an answer. Empty: it does not wait.
  using Turn = std::pair<bool, std::chrono::steady_clock::time_point>;
  std::optional<Turn> Waiting() const;
  /// Bytes that are on their way to the client.
  size_t unwritten() const { return written_.size() + more_.size(); }
  /// Where others write what is streamed; outlives the connection.
  std::unique_ptr<Stream> NewStream();

 private:
  enum class Stage { kHandshake, kIdle, kHeader, kBody, kAnswering, kWriting, kStreaming, kEnding };
  class OpenStream;
  /// What streams know of it.
  struct Door {
    absl::Mutex mutex;
    Connection* connection ABSL_GUARDED_BY(mutex);  // null: closed
  };

  void Enter(Stage stage, absl::Duration limit);
  void Handshake();
  /// Whether the client has begun with something else than TLS.
  bool SpeaksPlainly();
  void OnLate();
  void Read();
  void OnRead(ErrorCode error, size_t bytes);
  void Advance();
  void Refuse(Response response);
  /// The next piece of a long body whose length is not known; an empty one is its end.
  void SendOpenEnded(std::string piece);
  void Write(std::string text);
  /// What has come meanwhile, then the end.
  void WriteMore();
  void OnWritten(ErrorCode error);
  /// Says that nothing more comes, and lets the client take what was sent: what it still sends
  /// would otherwise make its machine forget the answer.
  void End();
  void AwaitEnd();

  Tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<Tcp::socket&>> tls_;
  boost::asio::steady_timer timer_;
  const std::string address_;
  const Limits limits_;
  Host& host_;
  const std::shared_ptr<Door> door_;

  Stage stage_ = Stage::kIdle;
  std::chrono::steady_clock::time_point since_;
  std::string certificate_subject_;
  std::array<char, 8192> received_;
  std::string bytes_;  // received and not yet read
  RequestReader reader_;
  std::string written_, more_;       // being written; behind it
  std::shared_ptr<Body> long_body_;  // null: none is being sent
  int64_t missing_ = 0;              // bytes of it, where it is known how many
  bool open_ended_ = false;          // it is not, and its end has not come
  bool chunked_ = false;             // so its pieces are chunks; else it ends with the connection
  bool streams_ = false;             // more will be sent
  bool head_only_ = false;
  bool late_ = false;       // the client has let the deadline of a request pass
  bool ending_ = false;     // with the answer
  bool finishing_ = false;  // with the server
  bool closed_ = false;
};

}  // namespace isocenter::http
