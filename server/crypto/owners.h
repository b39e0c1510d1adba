// Owners of OpenSSL's objects, and what the files of this room do with them. For no other room.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "server/crypto/certificates.h"

namespace isocenter::crypto {

template <auto free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using X509Owner = std::unique_ptr<X509, Freer<X509_free>>;
using KeyOwner = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using ContextOwner = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;

Certificate Describe(X509& certificate);
/// `flags`: how X509_NAME_print_ex(3) writes it.
std::string SubjectOf(const X509& certificate, unsigned long flags);

/// What OpenSSL says about its last failure on this thread.
std::string LastError();
/// The other side's certificate must hold for a host, by name or address.
void ExpectHost(SSL* session, const std::string& host);

}  // namespace isocenter::crypto
