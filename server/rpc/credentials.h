// TLS of the gRPC endpoint.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::rpc {

/// No certificate: plain text. With a client authority: mutual TLS. Errors: those of
/// ReadRegularFile, INVALID_ARGUMENT (not PEM), naming the field and the file.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const v1::TlsConfig& tls);

}  // namespace isocenter::rpc
