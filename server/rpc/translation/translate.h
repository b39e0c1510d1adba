// Jobs as the wire has them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"

namespace isocenter::rpc {

v1::UsedCalibration ToProto(const jobs::UsedCalibration& calibration);
jobs::UsedCalibration CalibrationFromProto(const v1::UsedCalibration& proto);

/// To the nanosecond. The time must be finite.
google::protobuf::Timestamp TimestampToProto(absl::Time time);
v1::JobState ToProto(jobs::JobState state);
v1::JobClass ToProto(jobs::JobClass job_class);
/// kNone: unspecified.
v1::PairRole ToProto(jobs::PairRole role);
v1::WarningKind ToProto(jobs::WarningKind kind);
v1::JobWarning WarningToProto(const jobs::JobWarning& warning);
v1::IterationReport ReportToProto(const jobs::IterationReport& report);
/// That it has.
v1::Preview PreviewToProto(const jobs::Job& job);
v1::JobProgress ProgressToProto(const jobs::Job& job);
v1::JobResult ResultToProto(const jobs::Job& job);
/// Without the preview.
v1::Job ToProto(const jobs::Job& job);

/// Unspecified is live. Errors: INVALID_ARGUMENT (a class that does not exist).
absl::StatusOr<jobs::JobClass> JobClassFromProto(int number);

/// Errors: INVALID_ARGUMENT (a reason that does not exist).
absl::StatusOr<jobs::CancelReason> CancelReasonFromProto(int number);

/// Errors: INVALID_ARGUMENT (a state that does not exist).
absl::StatusOr<jobs::JobFilter> FilterFromProto(const v1::ListJobsRequest& request);

/// Page tokens hold the cursor and a fingerprint of the filter; clients must not look inside.
std::string EncodePageToken(const jobs::JobCursor& cursor, const v1::ListJobsRequest& request);
/// Errors: INVALID_ARGUMENT (not a token of this server, or of another filter).
absl::StatusOr<jobs::JobCursor> DecodePageToken(const v1::ListJobsRequest& request);

}  // namespace isocenter::rpc
