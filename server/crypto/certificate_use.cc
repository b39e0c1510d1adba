#include "server/crypto/certificate_use.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

bool HasNames(const X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const int type = sk_GENERAL_NAME_value(names.get(), i)->type;
    if (type == GEN_DNS || type == GEN_IPADD) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CertificateUse> UseOf(absl::string_view field, const std::string& file,
                                     const std::vector<std::string>& hosts) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(field, file, kMostPemBytes));
  const Bio reader(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const X509Owner certificate(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", file,
                     ", which holds no certificate; legal is a PEM file with BEGIN CERTIFICATE"));
  }
  CertificateUse use{.subject = Describe(*certificate).subject,
                     .has_names = HasNames(*certificate)};
  const uint32_t usage = X509_get_extended_key_usage(certificate.get());  // all bits: it has none
  const bool for_any = (usage & XKU_ANYEKU) != 0;
  use.for_servers = for_any || (usage & XKU_SSL_SERVER) != 0;
  use.for_clients = for_any || (usage & XKU_SSL_CLIENT) != 0;
  for (const std::string& host : hosts) {
    const bool holds =
        X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1 ||
        X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1;
    if (!holds) use.not_for.push_back(host);
  }
  ERR_clear_error();
  return use;
}

}  // namespace isocenter::crypto
