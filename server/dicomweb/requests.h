// What all requests of DICOMweb have in common: the objects that a path names, the form of the
// answer, and addresses that answers refer to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/dicomweb/media_types.h"
#include "server/http/router.h"
#include "server/http/transport/http.h"

namespace isocenter::dicomweb {

inline constexpr char kRoot[] = "/dicomweb";
inline constexpr char kExplicitLittleEndian[] = "1.2.840.10008.1.2.1";
inline constexpr char kDicomJson[] = "application/dicom+json";
inline constexpr char kDicom[] = "application/dicom";
inline constexpr char kOctetStream[] = "application/octet-stream";

/// UIDs; those of levels that a path does not name are empty.
struct ObjectPath {
  std::string study, series, instance;
};

/// Those that the first three arguments of a route are. Errors: INVALID_ARGUMENT (none).
absl::StatusOr<ObjectPath> PathOf(const http::Call& call);

/// Errors: INVALID_ARGUMENT, unless it is a UID (PS3.5, 9.1). `name`: "StudyInstanceUID".
absl::Status CheckUid(absl::string_view name, absl::string_view uid);

/// The form of the answer: of the parameter `accept`, or else the header. Errors: INVALID_ARGUMENT
/// (none that can be read); UNIMPLEMENTED (none of `forms`, which it names).
absl::StatusOr<Form> FormFor(const http::Request& request, std::span<const Form> forms);

/// The answer to an error, with 406 for UNIMPLEMENTED, which no other one is.
absl::StatusOr<http::Response> Answered(absl::StatusOr<http::Response> response);

/// "https://node.example/dicomweb", as the client, or the proxy before this server, has addressed
/// it; without a scheme and a host where these cannot be told.
std::string BaseUrl(const http::Request& request);
/// ".../studies/1.2/series/3.4", as far as the path goes.
std::string UrlOf(absl::string_view base, const ObjectPath& path);

/// Adds a warning that says what an answer is not (PS3.18, 8.3.4.1): `text` without quotes.
void Warn(absl::string_view text, http::Response& response);

/// Errors: INVALID_ARGUMENT, unless every parameter of the request is one of `legal` or `accept`.
absl::Status CheckParameters(const http::Request& request,
                             const std::vector<absl::string_view>& legal);

}  // namespace isocenter::dicomweb
