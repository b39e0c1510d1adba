// Jobs, results and protocols of a server.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/jobs.pb.h"
#include "isocenter/v1/protocols.pb.h"
#include "isocenter/v1/worklist.pb.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::client {

/// Receives a downloaded DICOM series, in order. A returned error ends the download.
class DicomSink {
 public:
  virtual ~DicomSink() = default;
  virtual absl::Status OnFileCount(int files) = 0;
  /// `name` is a plain file name: never a path, never empty.
  virtual absl::Status OnFile(const std::string& name) = 0;
  virtual absl::Status OnData(absl::string_view data) = 0;
  virtual absl::Status OnEndOfFile() = 0;
};

/// Receives a downloaded volume in Hounsfield units, [z][y][x], in pieces of any size.
class VolumeSink {
 public:
  virtual ~VolumeSink() = default;
  virtual absl::Status OnGrid(const VolumeGrid& grid) = 0;
  virtual absl::Status OnVoxels(std::span<const float> voxels) = 0;
};

/// Thread-safe. All calls wait for the server's answer; errors are those that the proto files
/// state, and UNAVAILABLE.
class JobClient {
 public:
  explicit JobClient(const ServiceChannel& channel);
  ~JobClient();

  /// All jobs that match, newest first, at most `limit`. Paging fields of `filter` are ignored.
  absl::StatusOr<std::vector<v1::Job>> List(v1::ListJobsRequest filter, int limit) const;
  absl::StatusOr<v1::Job> Get(const std::string& job_id) const;
  /// Calls `on_change` at once and after every change until the job has ended or `on_change`
  /// returns false; returns the last state seen. `previews`: the jobs have those, too.
  absl::StatusOr<v1::Job> Watch(const std::string& job_id,
                                const std::function<bool(const v1::Job&)>& on_change,
                                bool previews = false) const;
  /// As Watch, but a job that was seen once is watched again, for a minute, when the connection
  /// breaks or the service restarts; `on_break` is told of each break.
  absl::StatusOr<v1::Job> Follow(const std::string& job_id,
                                 const std::function<bool(const v1::Job&)>& on_change,
                                 const std::function<void(const absl::Status&)>& on_break,
                                 bool previews = false) const;
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id,
                                 v1::CancelReason reason = v1::CANCEL_REASON_UNSPECIFIED,
                                 absl::Duration timeout = absl::Seconds(30)) const;
  /// Returns the new job, which has only been accepted.
  absl::StatusOr<v1::Job> Refine(const v1::RefineJobRequest& request) const;
  /// `force`: also when DICOM destinations have not confirmed that they have it.
  absl::Status Delete(const std::string& job_id, bool force = false) const;
  /// What is scheduled, as the worklist of the server's hospital has it.
  absl::StatusOr<v1::ListScheduledStepsResponse> ListScheduledSteps(
      const v1::ListScheduledStepsRequest& request) const;
  /// What the devices did for a job and when, as JSON in Chrome's trace event format.
  absl::StatusOr<std::string> Trace(const std::string& job_id) const;
  /// DATA_LOSS when less arrives than was announced.
  absl::Status DownloadDicom(const std::string& job_id, DicomSink& sink) const;
  absl::Status DownloadVolume(const std::string& job_id, VolumeSink& sink) const;

  absl::StatusOr<v1::ListProtocolsResponse> ListProtocols() const;

 private:
  struct Stubs;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace isocenter::client
