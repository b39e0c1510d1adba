// Which of the nodes behind --server a command is about.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cluster.h"
#include "client/flags/incomplete.h"

namespace isocenter::cli {

/// Whether the flags of AddServerFlags mean an address: WrongUsage where they do not.
absl::Status CheckServer(const client::ServerAddress& server);

/// Cluster::Find of what CheckServer has found right.
absl::StatusOr<client::Cluster> FindCluster(const client::ServerAddress& server);

/// For what any node answers.
absl::StatusOr<client::ServiceChannel> AnyService(const client::ServerAddress& server);

/// For what is to be done to one node: with several, --node has to name it.
absl::StatusOr<client::ServiceChannel> TheService(const client::ServerAddress& server);

/// Nodes that have a job, as HoldersOfJob orders them. Where there is no choice, that node, which
/// is not asked: what it says to the command is the answer.
struct JobService {
  client::ServiceChannel channel;
  bool active = false;  // the job is under way there
};
absl::StatusOr<std::vector<JobService>> ServicesOfJob(const client::ServerAddress& server,
                                                      const std::string& job_id);
/// The first of these: where its result is, or will be.
absl::StatusOr<client::ServiceChannel> ServiceOfJob(const client::ServerAddress& server,
                                                    const std::string& job_id);

/// No node answered.
template <class T>
bool NoneOf(const std::vector<client::NodeAnswer<T>>& answers) {
  return std::ranges::none_of(answers, [](const auto& answer) { return answer.value.ok(); });
}

/// OK when all nodes answered, the one error where none did; else Incomplete, with each that did
/// not.
template <class T>
absl::Status Completeness(const std::vector<client::NodeAnswer<T>>& answers) {
  std::string silent;
  size_t count = 0;
  for (const client::NodeAnswer<T>& answer : answers) {
    if (answer.value.ok()) continue;
    ++count;
    absl::StrAppend(&silent, "\n  ", answer.node, ": ", answer.value.status().message());
  }
  if (count == 0) return absl::OkStatus();
  if (answers.size() == 1) return answers.front().value.status();
  const std::string message =
      absl::StrCat(count, " of ", answers.size(), " nodes gave no answer:", silent);
  return count == answers.size() ? absl::UnavailableError(message) : flags::Incomplete(message);
}

}  // namespace isocenter::cli
