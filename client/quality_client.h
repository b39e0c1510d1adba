// Results of tests of image quality that the server keeps.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/quality.pb.h"

namespace isocenter::client {

/// Thread-safe. Errors are those that quality.proto states, and UNAVAILABLE.
class QualityClient {
 public:
  explicit QualityClient(const ServiceChannel& channel);
  ~QualityClient();

  absl::StatusOr<v1::QualityResult> Record(const v1::RecordQualityRequest& request) const;
  absl::StatusOr<v1::ListQualityResponse> List(const v1::ListQualityRequest& request) const;
  absl::StatusOr<v1::QualityResult> SetBaseline(const std::string& id) const;

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client
