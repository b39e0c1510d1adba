// What is said of a job that goes on at the service when nobody follows it any more.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// From now on who interrupts this program reads that the job goes on (SayWhenEnded), unless it has
/// ended.
void SayThatItGoesOn(const v1::Job& job);

/// Of a connection that broke and is tried again.
std::string LostText(const absl::Status& why);

/// An UNAVAILABLE that ends the following, with what goes on and how it is followed again.
absl::Status WithWayBack(const absl::Status& status, const std::string& job_id);

}  // namespace isocenter::cli
