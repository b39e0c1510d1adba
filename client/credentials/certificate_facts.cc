#include "client/credentials/certificate_facts.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/string_view.h"
#include "client/credentials/owners.h"

namespace isocenter::client {
namespace {

using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Control characters are no part of a message.
std::string Printable(absl::string_view text) {
  std::string printable(text.substr(0, 200));
  std::ranges::replace_if(
      printable, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return printable;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return "";
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text);
  return text;
}

std::vector<std::string> HostsOf(const X509* certificate) {
  std::vector<std::string> hosts;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      hosts.push_back(
          Printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                     static_cast<size_t>(ASN1_STRING_length(name->d.dNSName))}));
    } else if (name->type == GEN_IPADD) {
      hosts.push_back(AddressOf(name->d.iPAddress));
    }
  }
  return hosts;
}

}  // namespace

std::vector<X509Owner> ReadAll(const std::string& pem) {
  std::vector<X509Owner> all;
  const Bio reader = Reader(pem);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) {
    all.emplace_back(one);
  }
  ERR_clear_error();
  return all;
}

KeyOwner ReadKey(const std::string& pem) {
  KeyOwner key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return key;
}

std::string NameOf(const X509_NAME* name) {
  const Bio text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return Printable(absl::string_view(data, static_cast<size_t>(size)));
}

CertificateFacts Describe(const X509* certificate) {
  return {.subject = NameOf(X509_get_subject_name(certificate)),
          .issuer = NameOf(X509_get_issuer_name(certificate)),
          .not_before = TimeOf(X509_get0_notBefore(certificate)),
          .not_after = TimeOf(X509_get0_notAfter(certificate)),
          .names = HostsOf(certificate)};
}

std::vector<CertificateFacts> ReadFacts(const std::string& pem) {
  std::vector<CertificateFacts> facts;
  for (const X509Owner& one : ReadAll(pem)) facts.push_back(Describe(one.get()));
  return facts;
}

bool IsKeyOf(const std::string& private_key, const std::string& certificate) {
  const std::vector<X509Owner> certificates = ReadAll(certificate);
  const KeyOwner key = ReadKey(private_key);
  const bool is_pair = !certificates.empty() && key != nullptr &&
                       X509_check_private_key(certificates[0].get(), key.get()) == 1;
  ERR_clear_error();
  return is_pair;
}

}  // namespace isocenter::client
