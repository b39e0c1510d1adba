// STOW-RS as user: stored DICOM files to a web server. Source: DICOM PS3.18, 10.5.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/stow/multipart_body.h"
#include "server/web_client/web_client.h"

namespace isocenter::stow {

struct Destination {
  std::string url;                // ".../studies"
  std::string bearer_token_file;  // read for each request; empty: none
  web::Trust trust;
};

/// What has become of an object.
struct Reception {
  enum class Kind {
    kStored,
    kRefused,  // see failure_reason
    kUnnamed,  // the answer does not say
  };
  Kind kind = Kind::kUnnamed;
  uint16_t failure_reason = 0;  // DICOM PS3.18, table I.2-2; as statuses of C-STORE
};

struct Outcome {
  enum class Kind {
    kEach,      // see receptions
    kTooLarge,  // none was stored, as all together are too large
    kRefused,   // none was stored, and the same request would end the same way
    kTryLater,  // what has become of them is not known, or the server has no time, or lets us not
                // in
  };
  Kind kind = Kind::kTryLater;
  std::vector<Reception> receptions;  // of each object, in order
  std::string reason;                 // a sentence; empty where each has its own
  absl::Duration retry_after;         // not before, the server says
  bool has_begun = false;             // something of an object has left this machine
};

/// Sends all of `objects`, at least one, in one request. Waits 5 s for a connection, 120 s for
/// each byte, and altogether as long as 64 KiB a second take, and 120 s more. `stopped` as in
/// web::Request. Thread-safe.
Outcome Store(const Destination& destination, std::vector<Object> objects,
              const std::function<bool()>& stopped);

}  // namespace isocenter::stow
