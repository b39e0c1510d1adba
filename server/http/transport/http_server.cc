#include "server/http/transport/http_server.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "server/http/transport/connection.h"

namespace isocenter::http {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kUntilDescriptorsAreFree(100);

}  // namespace

/// Its members belong to the thread of `io`.
struct HttpServer::Impl : Connection::Host {
  Impl(HttpOptions given, Handler answers)
      : options(std::move(given)),
        handler(std::move(answers)),
        workers(static_cast<size_t>(options.threads)) {
    if (options.tls != nullptr) tls.emplace(options.tls.release());
  }

  ErrorCode Listen();
  void Accept();
  void Admit(Tcp::socket socket);
  bool MakeRoom(const std::string& address);
  void Stop();
  void Ask(std::shared_ptr<Connection> connection, Request request) override;
  void AskMore(std::shared_ptr<Connection> connection, std::shared_ptr<Body> body) override;
  void OnWriting(const std::shared_ptr<Connection>& connection) override;
  void OnClosed(const std::shared_ptr<Connection>& connection) override;
  void OnHandshakeFailed(const Connection& connection, const std::string& why) override {
    if (options.handshake_failed) options.handshake_failed(connection.address(), why);
  }

  HttpOptions options;
  const Handler handler;
  asio::io_context io{1};
  std::optional<asio::ssl::context> tls;
  Tcp::acceptor acceptor{io};
  int port = 0;  // of the acceptor; constant once it listens
  asio::steady_timer pause{io};
  std::set<std::shared_ptr<Connection>> connections;
  /// Keeps the thread until all connections are closed.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{io.get_executor()};
  asio::thread_pool workers, urgent{1};
  std::thread thread;
};

ErrorCode HttpServer::Impl::Listen() {
  const size_t colon = options.address.rfind(':');
  std::string host = options.address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  ErrorCode error;
  const auto found = Tcp::resolver(io).resolve(host, options.address.substr(colon + 1),
                                               Tcp::resolver::passive, error);
  if (error) return error;
  // Of a name's addresses that of IPv4: "localhost" has both.
  Tcp::endpoint endpoint = *found.begin();
  for (const auto& each : found) {
    if (each.endpoint().address().is_v4()) endpoint = each.endpoint();
  }
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) port = acceptor.local_endpoint(error).port();
  return error;
}

void HttpServer::Impl::Accept() {
  acceptor.async_accept([this](ErrorCode error, Tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!error) {
      Admit(std::move(socket));
      return Accept();
    }
    // It has left again, or there are no descriptors: those in use end in their time.
    pause.expires_after(kUntilDescriptorsAreFree);
    pause.async_wait([this](ErrorCode) {
      if (acceptor.is_open()) Accept();
    });
  });
}

void HttpServer::Impl::Admit(Tcp::socket socket) {
  ErrorCode error;
  const Tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;
  std::string address = peer.address().to_string(error);
  if (error || !MakeRoom(address)) return;
  socket.set_option(Tcp::no_delay(true), error);
  auto connection = std::make_shared<Connection>(
      std::move(socket), std::move(address), tls ? &*tls : nullptr,
      Connection::Limits{.largest_body = options.largest_body, .patience = options.patience},
      *this);
  connections.insert(connection);
  connection->Begin();
}

/// False: all places are taken by those whose answer is being made.
bool HttpServer::Impl::MakeRoom(const std::string& address) {
  std::vector<std::shared_ptr<Connection>> rivals;
  std::ranges::copy_if(connections, std::back_inserter(rivals),
                       [&](const auto& each) { return each->address() == address; });
  if (rivals.size() < options.connections / 2) {
    if (connections.size() < options.connections) return true;
    rivals.assign(connections.begin(), connections.end());
  }
  std::erase_if(rivals, [](const auto& each) { return !each->Waiting(); });
  if (rivals.empty()) return false;
  (*std::ranges::min_element(rivals, {}, [](const auto& each) {
    return *each->Waiting();
  }))->Close();
  return true;
}

void HttpServer::Impl::Ask(std::shared_ptr<Connection> connection, Request request) {
  asio::thread_pool& pool = options.urgent && options.urgent(request) ? urgent : workers;
  asio::post(pool, [this, connection = std::move(connection), request = std::move(request)] {
    Response response = handler(request);
    const auto stream = std::exchange(response.stream, nullptr);
    asio::post(io,
               [connection, streams = stream != nullptr, response = std::move(response)]() mutable {
                 connection->Send(std::move(response), streams);
               });
    if (stream != nullptr && request.method != "HEAD") stream(connection->NewStream());
  });
}

void HttpServer::Impl::AskMore(std::shared_ptr<Connection> connection, std::shared_ptr<Body> body) {
  asio::post(workers, [this, connection = std::move(connection), body = std::move(body)] {
    asio::post(io, [connection, piece = body->Next()]() mutable {
      connection->SendPiece(std::move(piece));
    });
  });
}

void HttpServer::Impl::OnWriting(const std::shared_ptr<Connection>& connection) {
  size_t bytes = 0;
  std::vector<std::shared_ptr<Connection>> writing;
  for (const auto& each : connections) {
    bytes += each->unwritten();
    if (each != connection && each->unwritten() > 0 && each->Waiting()) writing.push_back(each);
  }
  std::ranges::sort(writing, {}, [](const auto& each) { return *each->Waiting(); });
  for (const auto& each : writing) {
    if (bytes <= options.most_answer_bytes) return;
    bytes -= each->unwritten();
    each->Close();
  }
}

void HttpServer::Impl::OnClosed(const std::shared_ptr<Connection>& connection) {
  connections.erase(connection);
  if (connections.empty() && !acceptor.is_open()) work.reset();
}

void HttpServer::Impl::Stop() {
  ErrorCode ignored;
  acceptor.close(ignored);
  pause.cancel();
  if (connections.empty()) work.reset();
  const auto all = connections;  // closing takes it out
  for (const auto& connection : all) connection->Finish();
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options,
                                                              Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  if (const ErrorCode error = impl->Listen()) {
    return absl::UnavailableError(absl::StrCat("cannot be listened on: ", error.message()));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->Accept();
  impl_->thread = std::thread([this] {
    pthread_setname_np(pthread_self(), "iso-http");
    impl_->io.run();
  });
}

HttpServer::~HttpServer() {
  absl::Notification stopped;
  asio::post(impl_->io, [&] {
    impl_->Stop();
    stopped.Notify();
  });
  stopped.WaitForNotification();
  // From now on nothing is asked.
  impl_->workers.join();
  impl_->urgent.join();
  impl_->thread.join();
}

void HttpServer::UseTls(crypto::TlsContext tls) {
  asio::post(impl_->io, [impl = impl_.get(), tls = std::move(tls)]() mutable {
    impl->tls.emplace(tls.release());
  });
}

int HttpServer::port() const { return impl_->port; }

}  // namespace isocenter::http
