// Owners of OpenSSL's objects, and what the files of this folder do with them. For no other folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "client/credentials/certificate_facts.h"

namespace isocenter::client {

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
using Session = std::unique_ptr<SSL, Freer<SSL_free>>;

/// The certificates of a PEM text; what is none is left out.
std::vector<X509Owner> ReadAll(const std::string& pem);
/// Null: it holds none that can be read.
KeyOwner ReadKey(const std::string& pem);

CertificateFacts Describe(const X509* certificate);
std::string NameOf(const X509_NAME* name);

}  // namespace isocenter::client
