#include "client/cli/options/job_selection.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "client/rpc_status.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

/// Of the voxels of a result: float32, and int16 in DICOM objects.
constexpr int64_t kBytesPerVoxel = 6;

absl::Time EndOf(const v1::Job& job) {
  return absl::FromUnixSeconds(job.end_time().seconds()) +
         absl::Nanoseconds(job.end_time().nanos());
}

int64_t BytesOf(const v1::Job& job) {
  if (job.state() != v1::JOB_STATE_COMPLETED) return 0;
  const v1::VolumeGrid& grid = job.grid();
  return kBytesPerVoxel * grid.nx() * grid.ny() * grid.nz();
}

/// Whether every image is where it is to go; nothing: it was to go nowhere.
std::optional<bool> IsDelivered(const v1::Job& job) {
  if (job.transfer().empty()) return std::nullopt;
  return std::ranges::all_of(job.transfer(), &v1::Transfer::done);
}

void Consider(const v1::Job& job, const JobSelection& selection, absl::Time now,
              SelectedJobs& found) {
  if (!client::HasEnded(job) || !job.has_end_time()) return;
  if (now - EndOf(job) < absl::Seconds(*selection.older_than_seconds)) return;
  const std::optional<bool> delivered = IsDelivered(job);
  if (delivered.value_or(!selection.delivered)) {
    found.jobs.push_back({.id = job.job_id(), .ended = EndOf(job), .bytes = BytesOf(job)});
  } else {
    ++found.kept;
  }
}

/// All jobs that match, however many: one page of them is held at a time.
absl::Status VisitJobs(const client::ServiceChannel& channel, v1::ListJobsRequest filter,
                       const std::function<void(const v1::Job&)>& visit) {
  constexpr int kPage = 500;
  const std::unique_ptr<v1::JobService::Stub> stub =
      v1::JobService::NewStub(channel.grpc_channel());
  filter.set_page_size(kPage);
  do {
    v1::ListJobsResponse response;
    ISO_RETURN_IF_ERROR(client::Call(
        [&](grpc::ClientContext& context) { return stub->ListJobs(&context, filter, &response); }));
    for (const v1::Job& job : response.job()) visit(job);
    filter.set_page_token(response.next_page_token());
  } while (!filter.page_token().empty());
  return absl::OkStatus();
}

}  // namespace

int64_t SelectedJobs::bytes() const {
  int64_t sum = 0;
  for (const SelectedJob& job : jobs) sum += job.bytes;
  return sum;
}

SelectedJobs SelectJobs(const client::Cluster& cluster, const JobSelection& selection,
                        absl::Time now, std::vector<client::NodeAnswer<bool>>& asked) {
  v1::ListJobsRequest filter;
  filter.set_protocol(selection.protocol);
  filter.set_station_name(selection.station);
  for (const v1::JobState state :
       {v1::JOB_STATE_COMPLETED, v1::JOB_STATE_FAILED, v1::JOB_STATE_CANCELLED}) {
    filter.add_state(state);
  }
  SelectedJobs all;
  asked.clear();
  for (size_t node = 0; node < cluster.nodes().size(); ++node) {
    const client::ClusterNode& there = cluster.nodes()[node];
    SelectedJobs found;
    absl::Status listed = there.channel.status();
    if (listed.ok()) {
      listed = VisitJobs(*there.channel, filter,
                         [&](const v1::Job& job) { Consider(job, selection, now, found); });
    }
    asked.push_back({there.name, listed.ok() ? absl::StatusOr<bool>(true) : listed});
    if (!listed.ok()) continue;
    for (SelectedJob& job : found.jobs) {
      job.node = node;
      all.jobs.push_back(std::move(job));
    }
    all.kept += found.kept;
  }
  std::ranges::stable_sort(all.jobs, {}, &SelectedJob::ended);
  return all;
}

}  // namespace isocenter::cli
