#include "client/credentials/mismatch.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/connection_failure.h"

namespace isocenter::client {
namespace {

constexpr absl::Duration kToProbe = absl::Seconds(2);

std::string DayOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

std::string Quoted(const std::vector<std::string>& names) {
  return absl::StrCat("'", absl::StrJoin(names, "', '"), "'");
}

std::vector<std::string> SubjectsOf(const std::vector<CertificateFacts>& certificates) {
  std::vector<std::string> subjects;
  for (const CertificateFacts& one : certificates) subjects.push_back(one.subject);
  return subjects;
}

/// Of a certificate that does not hold now; empty: it does.
std::string Outdated(const CertificateFacts& certificate) {
  const absl::Time now = absl::Now();
  if (certificate.not_after < now) {
    return absl::StrCat("has expired on ", DayOf(certificate.not_after));
  }
  if (certificate.not_before > now) {
    return absl::StrCat("holds only from ", DayOf(certificate.not_before),
                        ": look at the clocks of both machines");
  }
  return "";
}

/// What is there speaks no TLS.
std::string WithoutTls(const Endpoint& endpoint, Speaker speaker) {
  switch (speaker) {
    case Speaker::kDicom:
      return ExplainDoor(endpoint.target, Door::kDicom);
    case Speaker::kHttp:
      return ExplainDoor(endpoint.target, Door::kWeb);
    case Speaker::kHttp2:
      if (endpoint.credentials.authorities.empty()) return "";
      return ExplainDoor(endpoint.target, Door::kWithoutTls);
    default:
      return "";
  }
}

std::string OfServer(const Endpoint& endpoint, const TlsProbe& probe) {
  const std::string& target = endpoint.target;
  if (probe.disbelief.has_value()) {
    const Disbelief& found = *probe.disbelief;
    const std::string name =
        absl::StrCat(found.is_of_server ? "the certificate '" : "the authority '",
                     found.certificate.subject, "' of ", target);
    switch (found.why) {
      case Disbelief::kExpired:
        return absl::StrCat(name, " ", Outdated(found.certificate),
                            found.is_of_server
                                ? "; have it renewed at the server"
                                : "; have a new one made, let it sign the server's certificate, "
                                  "and give it with --ca (ISOCENTER_CA)");
      case Disbelief::kNotYetValid:
        return absl::StrCat(name, " ", Outdated(found.certificate));
      case Disbelief::kOfAnotherAuthority:
        return absl::StrCat(
            "the certificate of ", target, " is signed by '", found.certificate.issuer,
            "', and --ca ", endpoint.ca_file, " holds ",
            Quoted(SubjectsOf(ReadFacts(endpoint.credentials.authorities))),
            ", which did not sign it; give the authority that did with --ca (ISOCENTER_CA)");
      default:
        return absl::StrCat(name, " is not believed: ", found.words,
                            "; look at it, and at --ca (ISOCENTER_CA)");
    }
  }
  if (!probe.is_for_host) {
    const CertificateFacts& server = *probe.server;
    return absl::StrCat("the certificate of ", target, " is for ",
                        Quoted(server.names.empty() ? std::vector{server.subject} : server.names),
                        ", and --server says '", target.substr(0, target.rfind(':')),
                        "'; give a name that it has, or have one made with this name");
  }
  return "";
}

/// A server ends what it does not believe without a word.
std::string OfClient(const Endpoint& endpoint, const TlsProbe& probe) {
  if (!probe.asks_for_certificate || !probe.ended_by_server) return "";
  const std::vector<CertificateFacts> own = ReadFacts(endpoint.credentials.certificate);
  if (own.empty()) {
    return absl::StrCat(
        endpoint.target,
        " wants to see a certificate of this client, and none is given; give --cert "
        "and --key (ISOCENTER_CERT, ISOCENTER_KEY)");
  }
  const std::string name =
      absl::StrCat("the certificate '", own[0].subject, "' in --cert ", endpoint.certificate_file);
  for (const CertificateFacts& one : own) {
    const std::string outdated = Outdated(one);
    if (!outdated.empty()) {
      return absl::StrCat("the certificate '", one.subject, "' in --cert ",
                          endpoint.certificate_file, " ", outdated,
                          "; have a new one made and give it with --cert and --key");
    }
  }
  const std::vector<std::string>& asked = probe.asked_authorities;
  if (!asked.empty() && std::ranges::find(asked, own.back().issuer) == asked.end()) {
    return absl::StrCat(name, " is signed by '", own.back().issuer, "', and ", endpoint.target,
                        " takes those of ", Quoted(asked),
                        "; give one of these with --cert and --key");
  }
  return absl::StrCat(endpoint.target, " does not take ", name,
                      "; its log says why (event=tls_handshake_failed)");
}

}  // namespace

std::string ExplainMismatch(const Endpoint& endpoint) {
  const std::optional<TlsProbe> probe = ProbeTls(endpoint.target, endpoint.credentials, kToProbe);
  if (!probe) return "";
  if (probe->speaker != Speaker::kTls) return WithoutTls(endpoint, probe->speaker);
  if (!probe->server) return "";
  if (!probe->speaks_grpc) return ExplainDoor(endpoint.target, Door::kTlsOfOthers);
  if (endpoint.credentials.authorities.empty()) {
    return absl::StrCat(endpoint.target,
                        " expects TLS, and no --ca is given; give the authority that signed its "
                        "certificate, '",
                        probe->server->issuer, "', with --ca (ISOCENTER_CA)");
  }
  const std::string of_server = OfServer(endpoint, *probe);
  return of_server.empty() ? OfClient(endpoint, *probe) : of_server;
}

}  // namespace isocenter::client
