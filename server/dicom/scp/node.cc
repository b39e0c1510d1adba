#include "server/dicom/scp/node.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/callers.h"
#include "server/dicom/net/library.h"
#include "server/dicom/net/listener.h"
#include "server/dicom/objects/dictionary.h"
#include "server/dicom/scp/places.h"
#include "server/dicom/scp/session.h"

namespace isocenter::dicom {
namespace {

struct Listener {
  Descriptor socket;
  bool secure;
};

}  // namespace

class Node::Impl {
 public:
  Impl(NodeOptions options, archive::Archive& archive, archive::Catalog* shared,
       NodeObserver observer, std::vector<Listener> listeners, Descriptor wake)
      : options_(std::move(options)),
        observer_(std::move(observer)),
        counts_(options_.max_associations_per_caller),
        peer_addresses_(options_.peers),
        own_(archive),
        context_{options_,  archive, shared == nullptr ? own_ : *shared,
                 observer_, counts_, peer_addresses_},
        listeners_(std::move(listeners)),
        wake_(std::move(wake)),
        acceptor_([this] { Accept(); }) {}
  ~Impl() { Stop(); }

  int port(bool secure) const {
    for (const Listener& listener : listeners_) {
      if (listener.secure == secure) return BoundPort(listener.socket.get());
    }
    return 0;
  }

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
    std::string address;
    bool is_peer = false, is_served = false;  // else it is being rejected
    std::atomic<bool> done = false;
    std::thread thread;
  };

  /// Runs on the acceptor's thread until it is woken.
  void Accept() {
    std::vector<pollfd> watched = {{wake_.get(), POLLIN, 0}};
    for (const Listener& listener : listeners_) {
      watched.push_back({listener.socket.get(), POLLIN, 0});
    }
    while (true) {
      if (poll(watched.data(), watched.size(), -1) < 0) {
        if (errno == EINTR) continue;
        spdlog::error("dicom: the listening sockets failed: {}", strerror(errno));
        return;
      }
      if (watched[0].revents != 0) return;
      Reap();
      for (size_t i = 0; i < listeners_.size(); ++i) {
        if (watched[i + 1].revents != 0) AcceptFrom(listeners_[i], watched[0]);
      }
    }
  }

  void AcceptFrom(const Listener& listener, pollfd& wake) {
    const int socket = accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      StartThread(socket, listener.secure);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // The connection stays in the queue. Waiting lets others end; an unserved queue would
      // otherwise make the loop spin.
      spdlog::warn("dicom: cannot accept a connection: {}", strerror(errno));
      (void)poll(&wake, 1, 100);
    }
  }

  Occupancy OccupancyFor(const std::string& address) const {
    Occupancy now;
    for (const Connection& connection : connections_) {
      const int here = connection.address == address ? 1 : 0;
      if (connection.is_served) {
        ++now.served;
        now.served_of_address += here;
        now.served_of_others += connection.is_peer ? 0 : 1;
      } else {
        ++now.rejected;
        now.rejected_of_address += here;
      }
    }
    return now;
  }

  void StartThread(int socket, bool secure) {
    const std::string address = PeerAddress(socket);
    const bool is_peer = peer_addresses_.Contain(address);
    const Admission admission = Admit(OccupancyFor(address), is_peer, options_);
    if (admission.kind == Admission::Kind::kClose) {
      context_.Report(NodeOperation::kAssociation, NodeOutcome::kRejected);
      if (options_.audit != nullptr) {
        options_.audit->Record({.action = audit::Action::kAssociate,
                                .outcome = audit::Outcome::kRefused,
                                .actor = {.address = address},
                                .service = "dicom",
                                .detail = admission.reason});
      }
      close(socket);
      return;
    }
    const Incoming incoming = {
        .socket = socket, .secure = secure, .address = address, .refusal = admission.reason};
    Connection& connection = connections_.emplace_back();
    connection.address = address;
    connection.is_peer = is_peer;
    connection.is_served = admission.kind == Admission::Kind::kServe;
    connection.thread = std::thread([this, incoming, &connection] {
      Serve(incoming, context_, connection.interruptor);
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
  CallerCounts counts_;
  const PeerAddresses peer_addresses_;
  archive::OwnCatalog own_;
  const NodeContext context_;
  const std::vector<Listener> listeners_;
  const Descriptor wake_;
  absl::Mutex stop_mutex_;
  // Used by the acceptor's thread, and by Stop() after it has joined that thread.
  std::list<Connection> connections_;
  std::thread acceptor_;  // last: it uses all of the above
};

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;
void Node::Stop() { impl_->Stop(); }
int Node::port() const { return impl_->port(/*secure=*/false); }
int Node::tls_port() const { return impl_->port(/*secure=*/true); }

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const NodeOptions& options,
                                                  archive::Archive& archive, NodeObserver observer,
                                                  archive::Catalog* shared) {
  ISO_RETURN_IF_ERROR(CheckOptions(options));
  ISO_RETURN_IF_ERROR(CheckDictionary());
  ConfigureLibrary();
  std::vector<Listener> listeners;
  if (!options.tls_only) {
    ISO_ASSIGN_OR_RETURN(Descriptor socket, Listen(options.address, options.port));
    listeners.push_back({std::move(socket), /*secure=*/false});
  }
  if (options.tls != nullptr) {
    ISO_ASSIGN_OR_RETURN(Descriptor socket, Listen(options.address, options.tls_port));
    listeners.push_back({std::move(socket), /*secure=*/true});
  }
  Descriptor wake(eventfd(0, EFD_CLOEXEC));
  if (wake.get() < 0) {
    return absl::InternalError(absl::StrCat("cannot create an event: ", strerror(errno)));
  }
  std::unique_ptr<Node> node(new Node(std::make_unique<Impl>(
      options, archive, shared, std::move(observer), std::move(listeners), std::move(wake))));
  for (const int port : {node->port(), node->tls_port()}) {
    if (port == 0) continue;
    spdlog::info("dicom: node '{}' listens on {}:{}{}", options.ae_title, options.address, port,
                 port == node->tls_port() ? " with TLS" : "");
  }
  return node;
}

}  // namespace isocenter::dicom
