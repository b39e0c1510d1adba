#include "server/dicom/net/association.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dcmlayer.h>
#include <dcmtk/dcmnet/dcmtrans.h>
#include <dcmtk/dcmnet/dimse.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/allowance.h"
#include "server/dicom/net/failure_text.h"
#include "server/dicom/net/store_contexts.h"
#include "server/dicom/net/tls.h"

namespace isocenter::dicom {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kReleaseSeconds = 2;

/// A connection that fails when its peer exceeds the allowance.
class BoundedConnection : public DcmTCPConnection {
 public:
  BoundedConnection(DcmNativeSocketType socket, Allowance& allowance)
      : DcmTCPConnection(socket), allowance_(allowance) {}
  ssize_t read(void* buffer, size_t bytes) override {
    if (allowance_.bytes <= 0 || absl::Now() > allowance_.deadline) {
      errno = ECONNABORTED;
      return -1;
    }
    const ssize_t received = DcmTCPConnection::read(buffer, bytes);
    // Peers that send a message in several small pieces wait for each to be acknowledged; an
    // acknowledgement that is delayed as usual costs 40 ms per message. Holds until the next read.
    const int on = 1;
    (void)setsockopt(getSocket(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    const ssize_t taken = allowance_.Take(buffer, received);
    if (allowance_.guard.is_of_stranger()) Abort();
    return taken;
  }

 private:
  /// Who begins with something else sees by the answer what is spoken here (PS3.8, 9.2.2, AA-1).
  void Abort() {
    constexpr unsigned char kAbort[] = {7, 0, 0, 0, 0, 4, 0, 0, 0, 0};
    (void)write(const_cast<unsigned char*>(kAbort), sizeof kAbort);
    errno = ECONNABORTED;
  }

  Allowance& allowance_;
};

/// Makes bounded connections, plain or over TLS, and says of which sockets.
class Layer : public DcmTransportLayer {
 public:
  Layer(Allowance& allowance, TlsPeer& tls_peer) : allowance_(allowance), tls_peer_(tls_peer) {}
  /// Connections from now on speak TLS, unless `tls` is null.
  void UseTls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }
  void set_on_connection(std::function<void(int socket)> callback) {
    on_connection_ = std::move(callback);
  }
  DcmTransportConnection* createConnection(DcmNativeSocketType socket, OFBool) override {
    if (on_connection_) on_connection_(socket);
    const int on = 1;  // without it a short command waits for the acknowledgement of the last one
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls_ != nullptr) return tls_->NewConnection(socket, allowance_, tls_peer_);
    return new BoundedConnection(socket, allowance_);
  }

 private:
  Allowance& allowance_;
  TlsPeer& tls_peer_;
  std::shared_ptr<const TlsContext> tls_;
  std::function<void(int socket)> on_connection_;
};

absl::Status Unavailable(absl::string_view action, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("cannot ", action, ": ", why));
}

/// How data sets are written in a context that both sides have agreed on. DCMTK would take any
/// transfer syntax of the other side's; ours are all little endian and not deflated.
std::optional<DataSetEncoding> EncodingOf(T_ASC_Parameters* parameters, uint8_t context) {
  T_ASC_PresentationContext found;
  if (ASC_findAcceptedPresentationContext(parameters, context, &found).bad()) return std::nullopt;
  const DcmXfer syntax(found.acceptedTransferSyntax);
  if (syntax.getXfer() == EXS_Unknown || syntax.isBigEndian() ||
      syntax.getStreamCompression() != ESC_none) {
    return std::nullopt;
  }
  return DataSetEncoding{.implicit_vr = static_cast<bool>(syntax.isImplicitVR())};
}

}  // namespace

void Interruptor::Watch(int socket) {
  const int duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return;  // out of descriptors: the operation ends by its time-out instead
  absl::MutexLock lock(&mutex_);
  duplicates_[socket] = duplicate;
  if (interrupted_) shutdown(duplicate, SHUT_RDWR);
}

void Interruptor::Unwatch(int socket) {
  absl::MutexLock lock(&mutex_);
  const auto it = duplicates_.find(socket);
  if (it == duplicates_.end()) return;
  close(it->second);
  duplicates_.erase(it);
}

void Interruptor::Interrupt() {
  absl::MutexLock lock(&mutex_);
  interrupted_ = true;
  for (const auto& [socket, duplicate] : duplicates_) shutdown(duplicate, SHUT_RDWR);
}

struct Association::State {
  explicit State(Interruptor& watcher) : interruptor(watcher) {}
  ~State() {
    if (association != nullptr) {
      if (!ended) ASC_abortAssociation(association);
      ASC_dropAssociation(association);
      ASC_destroyAssociation(&association);
    }
    if (network != nullptr) ASC_dropNetwork(&network);
    if (socket >= 0) interruptor.Unwatch(socket);
  }
  void Watch(int connected) {
    socket = connected;
    interruptor.Watch(socket);
  }
  void LetMessagesIn() {
    allowance.guard.set_contexts([parameters = association->params](uint8_t context) {
      return EncodingOf(parameters, context);
    });
  }
  /// Why an operation has failed.
  std::string Reason(const OFCondition& condition) const {
    const absl::Status& refused = allowance.guard.status();
    return refused.ok() ? FailureText(condition) : std::string(refused.message());
  }
  Interruptor& interruptor;
  int socket = -1;  // closed by DCMTK
  Allowance allowance;
  TlsPeer tls_peer;
  Layer layer{allowance, tls_peer};
  T_ASC_Network* network = nullptr;
  T_ASC_Association* association = nullptr;
  bool ended = false;
};

Association::Association(std::unique_ptr<State> state) : state_(std::move(state)) {}
Association::Association(Association&&) noexcept = default;
Association::~Association() = default;

T_ASC_Association* Association::get() const { return state_->association; }
const absl::Status& Association::refused() const { return state_->allowance.guard.status(); }
void Association::AllowMessage() { state_->allowance.Renew(); }
void Association::MarkEnded() { state_->ended = true; }
const std::string& Association::certificate_subject() const { return state_->tls_peer.subject; }
const std::string& Association::certificate_sha256() const {
  return state_->tls_peer.certificate_sha256;
}

void Association::Release() { state_->ended = ASC_releaseAssociation(state_->association).good(); }

void Association::AcknowledgeRelease() {
  if (ASC_acknowledgeRelease(state_->association).bad()) return;
  // The peer closes first, so that the answer is not lost.
  ASC_dropSCPAssociation(state_->association, kReleaseSeconds);
  state_->ended = true;
}

absl::StatusOr<Association> Association::Receive(int socket, bool secure,
                                                 const NodeOptions& options,
                                                 Interruptor& interruptor) {
  // DCMTK accepts connections by itself, on all addresses and one after the other, unless it is
  // handed a connected socket in a global variable. The variable is ours from here to the moment
  // when DCMTK makes its connection object of the socket; the request is read after that, so a slow
  // peer holds up nobody.
  static std::mutex* const handover = new std::mutex;
  std::unique_lock<std::mutex> lock(*handover);
  auto state = std::make_unique<State>(interruptor);
  if (secure) state->layer.UseTls(options.tls);
  bool taken_over = false;
  state->layer.set_on_connection([&](int connected) {
    state->Watch(connected);
    taken_over = true;
    dcmExternalSocketHandle.set(DCMNET_INVALID_SOCKET);
    lock.unlock();
  });
  state->allowance.deadline = absl::Now() + absl::Seconds(options.negotiation_seconds);
  const int timeout = std::max(1, static_cast<int>(options.negotiation_seconds));

  dcmExternalSocketHandle.set(socket);
  OFCondition condition = ASC_initializeNetwork(NET_ACCEPTOR, 0, timeout, &state->network);
  if (condition.good()) condition = ASC_setTransportLayer(state->network, &state->layer, 0);
  if (condition.good()) {
    condition =
        ASC_receiveAssociation(state->network, &state->association, options.max_pdu_bytes, nullptr,
                               nullptr, secure ? OFTrue : OFFalse, DUL_NOBLOCK, timeout);
  }
  if (!taken_over) {
    dcmExternalSocketHandle.set(DCMNET_INVALID_SOCKET);
    close(socket);
  }
  // DCMTK takes a header that cannot be read for a request without content.
  if (condition.bad() || !state->allowance.guard.status().ok()) {
    return Unavailable("receive an association request", state->Reason(condition));
  }
  state->LetMessagesIn();
  return Association(std::move(state));
}

absl::StatusOr<Association> Association::Request(const Peer& peer, const NodeOptions& options,
                                                 const std::vector<std::string>& sop_class_uids,
                                                 Interruptor& interruptor) {
  auto state = std::make_unique<State>(interruptor);
  state->layer.set_on_connection([&state = *state](int socket) { state.Watch(socket); });
  state->layer.UseTls(peer.tls);
  state->allowance.deadline = absl::Now() + absl::Seconds(options.negotiation_seconds);
  OFCondition condition = ASC_initializeNetwork(NET_REQUESTOR, 0, kConnectSeconds, &state->network);
  if (condition.good()) condition = ASC_setTransportLayer(state->network, &state->layer, 0);
  T_ASC_Parameters* parameters = nullptr;
  if (condition.good())
    condition = ASC_createAssociationParameters(&parameters, options.max_pdu_bytes);
  if (condition.bad()) return Unavailable("prepare an association", condition.text());

  ASC_setAPTitles(parameters, options.ae_title.c_str(), peer.ae_title.c_str(), nullptr);
  const std::string address = absl::StrCat(peer.host, ":", peer.port);
  ASC_setPresentationAddresses(parameters, "localhost", address.c_str());
  ASC_setTransportLayerType(parameters, peer.tls != nullptr ? OFTrue : OFFalse);
  if (const absl::Status proposed =
          ProposeStoreContexts(*parameters, sop_class_uids, peer.compression);
      !proposed.ok()) {
    ASC_destroyAssociationParameters(&parameters);
    return proposed;
  }
  // From here the parameters belong to the association, also when it is refused.
  condition = ASC_requestAssociation(state->network, parameters, &state->association, nullptr,
                                     nullptr, DUL_NOBLOCK, kConnectSeconds);
  if (condition.bad()) {
    state->ended = true;
    const bool rejected = condition == DUL_ASSOCIATIONREJECTED && state->association != nullptr;
    return Unavailable(
        absl::StrCat("associate with ", peer.ae_title, " at ", address),
        rejected ? RejectionText(*state->association->params) : state->Reason(condition));
  }
  state->allowance.Renew();
  state->LetMessagesIn();
  return Association(std::move(state));
}

}  // namespace isocenter::dicom
