#include "client/cli/options/service.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

absl::Status CheckServer(const client::ServerAddress& server) {
  const absl::Status status = client::CheckAddresses(server);
  return status.ok() ? status : flags::WrongUsage(status.message());
}

absl::StatusOr<client::Cluster> FindCluster(const client::ServerAddress& server) {
  ISO_RETURN_IF_ERROR(CheckServer(server));
  ISO_RETURN_IF_ERROR(client::CheckNode(server));
  return client::Cluster::Find(server);
}

absl::StatusOr<client::ServiceChannel> AnyService(const client::ServerAddress& server) {
  ISO_RETURN_IF_ERROR(CheckServer(server));
  ISO_RETURN_IF_ERROR(client::CheckNode(server));
  ISO_ASSIGN_OR_RETURN(const client::ServerAddress address, client::AnyAddress(server));
  return client::ServiceChannel::Open(address);
}

absl::StatusOr<client::ServiceChannel> TheService(const client::ServerAddress& server) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(server));
  if (cluster.alone()) return cluster.nodes().front().channel;
  const std::string names = absl::StrJoin(
      cluster.nodes(), ", ",
      [](std::string* text, const client::ClusterNode& node) { text->append(node.name); });
  return flags::WrongUsage(absl::StrCat(
      "there are several nodes, and --node says not which is meant; legal is one of ", names));
}

absl::StatusOr<std::vector<JobService>> ServicesOfJob(const client::ServerAddress& server,
                                                      const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(server));
  std::vector<JobService> services;
  if (cluster.alone()) {
    ISO_ASSIGN_OR_RETURN(client::ServiceChannel channel, cluster.nodes().front().channel);
    services.push_back({std::move(channel)});
    return services;
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<client::JobHolder> holders,
                       client::HoldersOfJob(cluster, job_id));
  for (const client::JobHolder& holder : holders) {
    ISO_ASSIGN_OR_RETURN(client::ServiceChannel channel, holder.node.channel);
    services.push_back({std::move(channel), !client::HasEnded(holder.job)});
  }
  return services;
}

absl::StatusOr<client::ServiceChannel> ServiceOfJob(const client::ServerAddress& server,
                                                    const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(const std::vector<JobService> services, ServicesOfJob(server, job_id));
  return services.front().channel;
}

}  // namespace isocenter::cli
