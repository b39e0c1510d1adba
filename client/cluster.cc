#include "client/cluster.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/job_client.h"
#include "client/nodes.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

absl::StatusOr<std::vector<ServerAddress>> Split(const ServerAddress& server) {
  const std::vector<std::string> addresses = absl::StrSplit(server.address, ',');
  if (addresses.size() > Cluster::kMostNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(addresses.size(), " addresses of a server are given; legal is at most ",
                     Cluster::kMostNodes));
  }
  std::vector<ServerAddress> servers;
  for (const std::string& address : addresses) {
    servers.push_back(server);
    servers.back().address = address;
  }
  return servers;
}

/// Starts a thread for each of `items`, and waits for all.
template <class Item, class Work>
void ForAll(std::vector<Item>& items, const Work& work) {
  std::vector<std::thread> threads;
  for (Item& item : items) threads.emplace_back([&work, &item] { work(item); });
  for (std::thread& thread : threads) thread.join();
}

/// An address, and who is behind it.
struct Door {
  ServerAddress server;
  absl::StatusOr<NodeList> list;
};

/// A node through an address.
struct Way {
  std::string node;
  ServiceChannel channel;
  absl::StatusOr<NodeList> answer;

  /// Another node answers there: the address is that node's own.
  bool leads_elsewhere() const {
    return answer.ok() && !channel.node().empty() && answer->answered_by != node;
  }
};

absl::StatusOr<std::vector<Door>> AskDoors(const std::vector<ServerAddress>& servers,
                                           absl::Duration timeout) {
  std::vector<Door> doors;
  std::vector<ServiceChannel> channels;
  for (const ServerAddress& one : servers) {
    ISO_ASSIGN_OR_RETURN(ServiceChannel channel, ServiceChannel::Open(one));
    channels.push_back(std::move(channel));
    doors.push_back({one, absl::UnknownError("not asked")});
  }
  ForAll(doors,
         [&](Door& door) { door.list = AskForNodes(channels[&door - doors.data()], timeout); });
  return doors;
}

/// The nodes behind a door, as calls name them; one without a name where there is no choice.
std::vector<std::string> NamesOf(const Door& door) {
  if (!door.server.node.empty()) return {door.server.node};
  if (!door.list.ok()) return {};
  if (door.list->nodes.size() < 2) return {""};
  return door.list->nodes;
}

absl::StatusOr<std::vector<Way>> WaysThrough(const std::vector<Door>& doors) {
  std::vector<Way> ways;
  for (const Door& door : doors) {
    const std::vector<std::string> names = NamesOf(door);
    if (names.size() > Cluster::kMostNodes) {
      return absl::InvalidArgumentError(absl::StrCat(door.server.address, " names ", names.size(),
                                                     " nodes; legal is at most ",
                                                     Cluster::kMostNodes));
    }
    for (const std::string& name : names) {
      ServerAddress address = door.server;
      address.node = name;
      ISO_ASSIGN_OR_RETURN(ServiceChannel channel, ServiceChannel::Open(address));
      ways.push_back({name.empty() ? address.address : name, std::move(channel),
                      absl::UnknownError("not asked")});
    }
  }
  return ways;
}

/// Each node once, by the first way that led there; by no way, with the first reason.
std::vector<ClusterNode> NodesAt(const std::vector<Way>& ways) {
  std::vector<ClusterNode> nodes;
  for (const Way& way : ways) {
    if (way.leads_elsewhere()) continue;
    absl::StatusOr<ServiceChannel> channel = way.channel;
    if (!way.answer.ok()) channel = way.answer.status();
    const auto known = std::ranges::find(nodes, way.node, &ClusterNode::name);
    if (known == nodes.end()) {
      nodes.push_back({way.node, std::move(channel)});
    } else if (!known->channel.ok() && channel.ok()) {
      known->channel = std::move(channel);
    }
  }
  return nodes;
}

}  // namespace

absl::StatusOr<Cluster> Cluster::Find(const ServerAddress& server, absl::Duration timeout) {
  ISO_ASSIGN_OR_RETURN(const std::vector<ServerAddress> servers, Split(server));
  if (servers.size() == 1 && !server.node.empty()) {
    ISO_ASSIGN_OR_RETURN(ServiceChannel channel, ServiceChannel::Open(server));
    return Cluster({{server.node, std::move(channel)}});
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<Door> doors, AskDoors(servers, timeout));
  const Door& only = doors.front();
  if (doors.size() == 1 && (!only.list.ok() || only.list->nodes.size() < 2)) {
    // What is wrong with one that does not answer is told by the call that it is meant for.
    ISO_ASSIGN_OR_RETURN(ServiceChannel channel, ServiceChannel::Open(only.server));
    return Cluster({{only.server.address, std::move(channel)}});
  }
  ISO_ASSIGN_OR_RETURN(std::vector<Way> ways, WaysThrough(doors));
  ForAll(ways, [&](Way& way) { way.answer = AskForNodes(way.channel, timeout); });
  std::vector<ClusterNode> nodes = NodesAt(ways);
  for (const Door& door : doors) {
    if (!door.list.ok() && server.node.empty()) {
      nodes.push_back({door.server.address, door.list.status()});
    }
  }
  if (!nodes.empty()) return Cluster(std::move(nodes));
  return absl::UnavailableError(
      absl::StrCat("no address leads to ",
                   server.node.empty() ? "a node" : absl::StrCat("node '", server.node, "'"),
                   "; addresses are ", server.address));
}

absl::Status CheckNode(const ServerAddress& server) {
  if (server.node.empty()) return absl::OkStatus();
  ServerAddress any = server;
  any.node.clear();
  ISO_ASSIGN_OR_RETURN(const std::vector<ServerAddress> servers, Split(any));
  ISO_ASSIGN_OR_RETURN(const std::vector<Door> doors, AskDoors(servers, Cluster::kToAnswer));
  std::vector<std::string> names;
  for (const Door& door : doors) {
    // Who does not answer, or has no name, may be the one.
    if (!door.list.ok() || door.list->answered_by.empty()) return absl::OkStatus();
    names.push_back(door.list->answered_by);
    names.insert(names.end(), door.list->nodes.begin(), door.list->nodes.end());
  }
  if (std::ranges::find(names, server.node) != names.end()) return absl::OkStatus();
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::NotFoundError(absl::StrCat("there is no node '", server.node, "' at ",
                                          server.address, "; legal is ",
                                          absl::StrJoin(names, ", ")));
}

bool HasEnded(const v1::Job& job) {
  return job.state() == v1::JOB_STATE_COMPLETED || job.state() == v1::JOB_STATE_FAILED ||
         job.state() == v1::JOB_STATE_CANCELLED;
}

absl::StatusOr<std::vector<JobHolder>> HoldersOfJob(const Cluster& cluster,
                                                    const std::string& job_id) {
  const auto answers = cluster.AskAll<v1::Job>(
      [&](const ServiceChannel& channel) { return JobClient(channel).Get(job_id); });
  std::vector<JobHolder> holders;
  std::vector<std::string> names, away;
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto& [node, job] = answers[i];
    names.push_back(node);
    if (job.ok()) {
      holders.push_back({cluster.nodes()[i], *job});
    } else if (!absl::IsNotFound(job.status())) {
      away.push_back(absl::StrCat(node, " (", job.status().message(), ")"));
    }
  }
  if (holders.empty() && !away.empty()) {
    return absl::UnavailableError(
        absl::StrCat("no node that answers has job '", job_id,
                     "'; without an answer: ", absl::StrJoin(away, ", ")));
  }
  if (holders.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no job '", job_id, "' on any of the nodes ",
                                            absl::StrJoin(names, ", "),
                                            "; `isocenter jobs` lists those that are there"));
  }
  std::ranges::stable_sort(holders, {}, [](const JobHolder& holder) {
    const v1::Job& job = holder.job;
    const int rank = job.state() == v1::JOB_STATE_COMPLETED ? 0 : HasEnded(job) ? 2 : 1;
    return std::tuple(rank, -job.create_time().seconds(), -job.create_time().nanos());
  });
  return holders;
}

absl::Status CheckAddresses(const ServerAddress& server) {
  ISO_ASSIGN_OR_RETURN(const std::vector<ServerAddress> servers, Split(server));
  for (const ServerAddress& one : servers) ISO_RETURN_IF_ERROR(CheckAddress(one));
  return absl::OkStatus();
}

absl::StatusOr<ServerAddress> AnyAddress(const ServerAddress& server) {
  ISO_ASSIGN_OR_RETURN(std::vector<ServerAddress> servers, Split(server));
  if (servers.size() == 1) return servers.front();
  std::vector<ServiceChannel> channels;
  for (const ServerAddress& one : servers) {
    ISO_ASSIGN_OR_RETURN(ServiceChannel channel, ServiceChannel::Open(one));
    channels.push_back(std::move(channel));
  }
  absl::Mutex mutex;
  std::optional<ServerAddress> first;  // guarded by `mutex`
  std::stop_source found;              // the others need not be waited for
  ForAll(servers, [&](const ServerAddress& one) {
    const auto& channel = channels[&one - servers.data()];
    const auto answer = AskForNodes(channel, Cluster::kToAnswer, found.get_token());
    if (!answer.ok() || (!one.node.empty() && answer->answered_by != one.node)) return;
    absl::MutexLock lock(&mutex);
    if (!first) first = one;
    found.request_stop();
  });
  return first.value_or(servers.front());
}

}  // namespace isocenter::client
