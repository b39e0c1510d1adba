#include "server/dicom/node.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/association.h"
#include "server/dicom/dictionary.h"
#include "server/dicom/library.h"
#include "server/dicom/session.h"

namespace isocenter::dicom {
namespace {

constexpr int kBacklog = 128;
// Beyond the associations that are served, this many connections get a proper rejection; more are
// closed at once.
constexpr int kRejectedAtOnce = 16;

absl::Status CheckRange(const char* name, double value, double least, double greatest) {
  if (value >= least && value <= greatest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("dicom ", name, " is ", value, "; legal is ", least, " to ", greatest));
}

absl::Status CheckAeTitle(const std::string& title) {
  const bool legal = !title.empty() && title.size() <= 16 && title.front() != ' ' &&
                     title.back() != ' ' && std::all_of(title.begin(), title.end(), [](char c) {
                       return absl::ascii_isprint(c) && c != '\\';
                     });
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("dicom AE title is '", title,
                   "'; legal is 1 to 16 printable ASCII characters without backslash, no spaces at "
                   "the ends"));
}

absl::Status CheckOptions(const NodeOptions& options) {
  ISO_RETURN_IF_ERROR(CheckAeTitle(options.ae_title));
  ISO_RETURN_IF_ERROR(CheckRange("port", options.port, 0, 65535));
  ISO_RETURN_IF_ERROR(CheckRange("max_associations", options.max_associations, 1, 256));
  ISO_RETURN_IF_ERROR(CheckRange("max_pdu_bytes", options.max_pdu_bytes, 4096, 131072));
  ISO_RETURN_IF_ERROR(CheckRange("negotiation_seconds", options.negotiation_seconds, 1, 3600));
  ISO_RETURN_IF_ERROR(CheckRange("idle_seconds", options.idle_seconds, 1, 86400));
  std::set<std::string> titles;
  for (const Peer& peer : options.peers) {
    ISO_RETURN_IF_ERROR(CheckAeTitle(peer.ae_title));
    ISO_RETURN_IF_ERROR(CheckRange("peer port", peer.port, 1, 65535));
    if (peer.host.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("dicom peer ", peer.ae_title, " has no host"));
    }
    if (!titles.insert(peer.ae_title).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("dicom peer ", peer.ae_title, " is given twice"));
    }
  }
  return absl::OkStatus();
}

/// Owner of a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

absl::StatusOr<Descriptor> Listen(const std::string& address, int port) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("dicom address '", address,
                                                   "': ", gai_strerror(error),
                                                   "; legal is an IPv4 address or a host name"));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.get() < 0 || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen for DICOM on ", address, ":", port, ": ", strerror(errno)));
  }
  return socket;
}

int BoundPort(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace

absl::string_view Name(NodeOperation operation) {
  switch (operation) {
    case NodeOperation::kAssociation:
      return "association";
    case NodeOperation::kEcho:
      return "echo";
    case NodeOperation::kFind:
      return "find";
    case NodeOperation::kMove:
      return "move";
    case NodeOperation::kGet:
      return "get";
    case NodeOperation::kStore:
      return "store";
    case NodeOperation::kCommitment:
      return "commitment";
  }
  return "unknown";
}

absl::string_view Name(NodeOutcome outcome) {
  switch (outcome) {
    case NodeOutcome::kSuccess:
      return "success";
    case NodeOutcome::kFailure:
      return "failure";
    case NodeOutcome::kCancelled:
      return "cancelled";
    case NodeOutcome::kRejected:
      return "rejected";
  }
  return "unknown";
}

class Node::Impl {
 public:
  Impl(NodeOptions options, archive::Archive& archive, NodeObserver observer, Descriptor listener,
       Descriptor wake)
      : options_(std::move(options)),
        observer_(std::move(observer)),
        context_{options_, archive, observer_},
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        port_(BoundPort(listener_.get())),
        acceptor_([this] { Accept(); }) {}
  ~Impl() { Stop(); }

  int port() const { return port_; }

  void Stop() {
    absl::MutexLock stopping(&stop_mutex_);
    if (!acceptor_.joinable()) return;
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof one);
    acceptor_.join();
    for (Connection& connection : connections_) connection.interruptor.Interrupt();
    for (Connection& connection : connections_) connection.thread.join();
    connections_.clear();
  }

 private:
  struct Connection {
    Interruptor interruptor;
    std::atomic<bool> done = false;
    std::thread thread;
  };

  /// Runs on the acceptor's thread until it is woken.
  void Accept() {
    pollfd watched[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    while (true) {
      if (poll(watched, 2, -1) < 0 && errno != EINTR) {
        spdlog::error("dicom: the listening socket failed: {}", strerror(errno));
        return;
      }
      if (watched[1].revents != 0) return;
      const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      Reap();
      if (socket < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          // The connection stays in the queue. Waiting lets others end; an unserved queue would
          // otherwise make this loop spin.
          spdlog::warn("dicom: cannot accept a connection: {}", strerror(errno));
          (void)poll(&watched[1], 1, 100);
        }
        continue;
      }
      StartThread(socket);
    }
  }

  void StartThread(int socket) {
    const int active = static_cast<int>(connections_.size());
    if (active >= options_.max_associations + kRejectedAtOnce) {
      context_.Report(NodeOperation::kAssociation, NodeOutcome::kRejected);
      close(socket);
      return;
    }
    const bool overloaded = active >= options_.max_associations;
    Connection& connection = connections_.emplace_back();
    connection.thread = std::thread([this, socket, overloaded, &connection] {
      Serve(socket, overloaded, context_, connection.interruptor);
      connection.done = true;
    });
  }

  /// Forgets connections that have ended.
  void Reap() {
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (!it->done) {
        ++it;
        continue;
      }
      it->thread.join();
      it = connections_.erase(it);
    }
  }

  const NodeOptions options_;
  const NodeObserver observer_;
  const NodeContext context_;
  const Descriptor listener_, wake_;
  const int port_;
  absl::Mutex stop_mutex_;
  // Used by the acceptor's thread, and by Stop() after it has joined that thread.
  std::list<Connection> connections_;
  std::thread acceptor_;  // last: it uses all of the above
};

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;
void Node::Stop() { impl_->Stop(); }
int Node::port() const { return impl_->port(); }

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const NodeOptions& options,
                                                  archive::Archive& archive,
                                                  NodeObserver observer) {
  ISO_RETURN_IF_ERROR(CheckOptions(options));
  ISO_RETURN_IF_ERROR(CheckDictionary());
  ConfigureLibrary();
  ISO_ASSIGN_OR_RETURN(Descriptor listener, Listen(options.address, options.port));
  Descriptor wake(eventfd(0, EFD_CLOEXEC));
  if (wake.get() < 0) {
    return absl::InternalError(absl::StrCat("cannot create an event: ", strerror(errno)));
  }
  std::unique_ptr<Node> node(new Node(std::make_unique<Impl>(
      options, archive, std::move(observer), std::move(listener), std::move(wake))));
  spdlog::info("dicom: node '{}' listens on {}:{}", options.ae_title, options.address,
               node->port());
  return node;
}

}  // namespace isocenter::dicom
