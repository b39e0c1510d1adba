#include "server/crypto/handshake_failure.h"

#include <openssl/x509_vfy.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

/// Of the last certificate that this thread refused; empty: none since it was asked for.
std::string& Refusal() {
  static thread_local std::string refusal;
  return refusal;
}

std::string DayOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

/// Control characters of a stranger's certificate are no part of a message.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.substr(0, 200);
}

int Note(int is_accepted, X509_STORE_CTX* context) {
  if (is_accepted == 1) return is_accepted;
  const int error = X509_STORE_CTX_get_error(context);
  X509* const refused = X509_STORE_CTX_get_current_cert(context);
  if (refused == nullptr) return is_accepted;
  // A client may send its authorities as well, and be refused for one of them; people know it by
  // its own.
  X509* const sent = X509_STORE_CTX_get0_cert(context);
  const Certificate shown = Describe(*refused);
  const Certificate own = sent == nullptr ? shown : Describe(*sent);
  std::string name = absl::StrCat("the client's certificate '", Printable(own.subject), "'");
  const std::string issued = absl::StrCat(name, " of the issuer '", Printable(own.issuer), "'");
  if (own.sha256 != shown.sha256) {
    name = absl::StrCat("the authority '", Printable(shown.subject), "' of ", name);
  }
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      Refusal() = absl::StrCat(name, " has expired on ", DayOf(shown.not_after));
      break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      Refusal() = absl::StrCat(name, " holds only from ", DayOf(shown.not_before),
                               "; look at the clocks of both machines");
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      Refusal() = absl::StrCat(issued, " is not of an authority that is accepted here");
      break;
    default:
      Refusal() = absl::StrCat(name, " is not accepted: ", X509_verify_cert_error_string(error));
  }
  return is_accepted;
}

/// Of the commonest mistakes; empty: another.
std::string WordsOf(absl::string_view reason) {
  const std::string lower = absl::AsciiStrToLower(reason);
  const auto has = [&lower](absl::string_view part) { return absl::StrContains(lower, part); };
  if (has("http request") || has("https proxy request") || has("wrong version number") ||
      has("packet length too long") || has("bad record type")) {
    return "the client sent plain text to the port of TLS";
  }
  if (has("did not return a certificate")) {
    return "the client showed no certificate, and client_ca_file asks for one";
  }
  if (has("unknown ca") || has("certificate unknown") || has("bad certificate")) {
    return "the client does not accept this server's certificate";
  }
  if (has("certificate verify failed")) return "the client's certificate is not accepted";
  return "";
}

}  // namespace

void WatchRefusals() {
  // OpenSSL calls this for each session that is made, which has its settings by then.
  CRYPTO_get_ex_new_index(
      CRYPTO_EX_INDEX_SSL, 0, nullptr,
      [](void* session, void*, CRYPTO_EX_DATA*, int, long, void*) {
        SSL* const made = static_cast<SSL*>(session);
        if (SSL_get_verify_callback(made) == nullptr) {
          SSL_set_verify(made, SSL_get_verify_mode(made), Note);
        }
      },
      nullptr, nullptr);
}

std::string HandshakeFailure(absl::string_view reason) {
  std::string words = std::exchange(Refusal(), {});
  // What was noted may be of an earlier handshake, which somebody else told of.
  const bool is_of_certificate =
      absl::StrContains(reason, "verify failed") || absl::StrContains(reason, "is not accepted");
  if (words.empty() || !is_of_certificate) words = WordsOf(reason);
  return words.empty() ? std::string(reason) : absl::StrCat(words, " (", reason, ")");
}

std::string ServersHandshakeFailure(absl::string_view reason) {
  const std::string lower = absl::AsciiStrToLower(reason);
  const auto has = [&lower](absl::string_view part) { return absl::StrContains(lower, part); };
  absl::string_view words;
  if (has("wrong version number") || has("packet length too long") || has("bad record type") ||
      has("unexpected message")) {
    words = "the other side answers without TLS; check the port, and that both sides have TLS";
  } else if (has("alert") && (has("certificate") || has("unknown ca"))) {
    words = "the other side does not take our certificate; its log says why";
  } else if (has("unexpected eof") || has("the connection broke")) {
    words =
        "the other side ended it; perhaps its port is one without TLS, or it does not take our "
        "certificate: check the port, and its log";
  }
  return words.empty() ? std::string(reason) : absl::StrCat(words, " (", reason, ")");
}

}  // namespace isocenter::crypto
