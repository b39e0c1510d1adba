#include "server/audit/syslog_sender.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/audit/audit_message.h"
#include "spdlog/spdlog.h"

namespace isocenter::audit {
namespace {

constexpr size_t kMaximumWaiting = 20000;
constexpr absl::Duration kFirstPause = absl::Seconds(1), kLongestPause = absl::Seconds(60);
constexpr absl::Duration kToFinish = absl::Seconds(3);
constexpr int kSocketSeconds = 5;

std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? "the connection broke" : reason;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

/// One connection at a time to the repository.
class SyslogSender::Connection {
 public:
  static absl::StatusOr<std::unique_ptr<Connection>> Create(SyslogOptions options) {
    std::unique_ptr<Connection> connection(new Connection(std::move(options)));
    const SyslogOptions& o = connection->options_;
    SSL_CTX* const context = connection->context_.get();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    const auto check = [](const char* field, const std::string& file, int result) {
      if (result == 1) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("audit.syslog.", field, " is ", file,
                                                     ", which cannot be used: ", LastError()));
    };
    ISO_RETURN_IF_ERROR(check("ca_file", o.ca_file,
                              SSL_CTX_load_verify_locations(context, o.ca_file.c_str(), nullptr)));
    if (o.certificate_file.empty()) return connection;
    ISO_RETURN_IF_ERROR(
        check("certificate_file", o.certificate_file,
              SSL_CTX_use_certificate_chain_file(context, o.certificate_file.c_str())));
    ISO_RETURN_IF_ERROR(
        check("private_key_file", o.private_key_file,
              SSL_CTX_use_PrivateKey_file(context, o.private_key_file.c_str(), SSL_FILETYPE_PEM)));
    return connection;
  }

  /// UNAVAILABLE: the message has not been taken; the connection is closed.
  absl::Status Send(const std::string& frame) {
    if (stream_ == nullptr) ISO_RETURN_IF_ERROR(Connect());
    if (BIO_write(stream_.get(), frame.data(), static_cast<int>(frame.size())) ==
        static_cast<int>(frame.size())) {
      return absl::OkStatus();
    }
    stream_.reset();
    return absl::UnavailableError(LastError());
  }

 private:
  struct Freer {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(BIO* stream) const { BIO_free_all(stream); }
  };
  explicit Connection(SyslogOptions options)
      : options_(std::move(options)), context_(SSL_CTX_new(TLS_client_method())) {}

  absl::Status Connect() {
    ERR_clear_error();
    std::unique_ptr<BIO, Freer> stream(BIO_new_ssl_connect(context_.get()));
    SSL* session = nullptr;
    BIO_get_ssl(stream.get(), &session);
    BIO_set_conn_hostname(stream.get(), options_.host.c_str());
    BIO_set_conn_port(stream.get(), absl::StrCat(options_.port).c_str());
    X509_VERIFY_PARAM* const verification = SSL_get0_param(session);
    if (X509_VERIFY_PARAM_set1_ip_asc(verification, options_.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(verification, options_.host.c_str(), options_.host.size());
    }
    ERR_clear_error();
    if (BIO_do_connect_retry(stream.get(), kSocketSeconds, -1) != 1) {
      const long verified = SSL_get_verify_result(session);
      return absl::UnavailableError(
          verified == X509_V_OK ? LastError() : X509_verify_cert_error_string(verified));
    }
    // A repository that has stopped reading must not hold up the end of the service.
    const timeval limit = {.tv_sec = kSocketSeconds};
    const int socket = static_cast<int>(BIO_get_fd(stream.get(), nullptr));
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    stream_ = std::move(stream);
    return absl::OkStatus();
  }

  const SyslogOptions options_;
  const std::unique_ptr<SSL_CTX, Freer> context_;
  std::unique_ptr<BIO, Freer> stream_;
};

absl::StatusOr<std::unique_ptr<SyslogSender>> SyslogSender::Start(SyslogOptions options,
                                                                  std::string source) {
  ISO_ASSIGN_OR_RETURN(auto connection, Connection::Create(std::move(options)));
  return std::unique_ptr<SyslogSender>(new SyslogSender(std::move(connection), std::move(source)));
}

SyslogSender::SyslogSender(std::unique_ptr<Connection> connection, std::string source)
    : connection_(std::move(connection)),
      source_(std::move(source)),
      host_(HostName()),
      thread_([this] { Run(); }) {}

SyslogSender::~SyslogSender() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SyslogSender::Send(const Event& event) {
  if (!HasMessage(event)) return;
  std::string frame = ToSyslogFrame(event, source_, host_, static_cast<int>(getpid()));
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= kMaximumWaiting) {
    waiting_.pop_front();
    if (given_up_++ == 0) {
      spdlog::error("audit: more than {} messages wait for the repository; the oldest are lost",
                    kMaximumWaiting);
    }
  }
  waiting_.push_back(std::move(frame));
}

void SyslogSender::Run() {
  absl::Duration pause = kFirstPause;
  absl::Time end = absl::InfiniteFuture();
  while (true) {
    std::string frame;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](SyslogSender* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->stopping_ || !self->waiting_.empty();
          },
          this));
      if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now() + kToFinish;
      if (waiting_.empty() || absl::Now() > end) {
        if (!waiting_.empty()) {
          spdlog::error("audit: {} messages were not sent to the repository", waiting_.size());
        }
        return;
      }
      frame = waiting_.front();
    }
    const absl::Status sent = connection_->Send(frame);
    absl::MutexLock lock(&mutex_);
    if (sent.ok()) {
      if (!waiting_.empty() && waiting_.front() == frame) waiting_.pop_front();
      if (given_up_ > 0) spdlog::error("audit: {} messages were lost", given_up_);
      given_up_ = 0;
      pause = kFirstPause;
      continue;
    }
    if (pause == kFirstPause) spdlog::error("audit: syslog repository: {}", sent.ToString());
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), pause);
    pause = std::min(2 * pause, kLongestPause);
    if (stopping_ && end == absl::InfiniteFuture()) end = absl::Now();
  }
}

}  // namespace isocenter::audit
