#include "server/daemon/machine_notes.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/config/addresses.h"
#include "server/config/server_config.h"
#include "server/daemon/start_advice.h"
#include "server/storage/files.h"
#include "server/storage/locks.h"

namespace isocenter::daemon {
namespace {

namespace fs = std::filesystem;

/// Binds and lets go: nobody is listened to. A name may stand for several addresses, of which one
/// suffices.
absl::Status CheckFree(const config::Listener& listener) {
  std::string host = listener.host;
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string why;
  const int unknown =
      getaddrinfo(host.c_str(), absl::StrCat(listener.port).c_str(), &hints, &found);
  const absl::Cleanup free_found = [found] {
    if (found != nullptr) freeaddrinfo(found);
  };
  if (unknown != 0) why = gai_strerror(unknown);
  for (const addrinfo* at = found; unknown == 0 && at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      why = std::strerror(errno);
      continue;
    }
    const absl::Cleanup close_socket = [socket] { close(socket); };
    const int on = 1;  // as those who listen: connections that have just ended are in nobody's way
    (void)setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket, at->ai_addr, at->ai_addrlen) == 0) return absl::OkStatus();
    why = std::strerror(errno);
  }
  return OfAddress(
      absl::UnavailableError(absl::StrCat(listener.field, " is ", listener.host, ":", listener.port,
                                          ", which cannot be listened on: ", why)));
}

/// Whether this user may write to a directory, or make it in the nearest above that is there.
absl::Status CheckWritable(const std::string& field, const std::string& path) {
  std::error_code none;
  fs::path nearest = fs::absolute(path, none);
  while (nearest.has_relative_path() && !fs::exists(nearest, none)) nearest = nearest.parent_path();
  int error = 0;
  if (!fs::is_directory(nearest, none)) {
    error = ENOTDIR;
  } else if (access(nearest.c_str(), W_OK | X_OK) != 0) {
    error = errno;
  }
  if (error == 0) return absl::OkStatus();
  return OfDirectory(field, path, storage::FileError(error, "write to", nearest));
}

}  // namespace

std::vector<std::string> MachineNotes(const v1::ServerConfig& config) {
  std::vector<std::string> notes;
  const auto note = [&](const absl::Status& status) {
    if (!status.ok()) notes.emplace_back(status.message());
  };
  const std::string& archive = config.archive_directory();
  const std::string spool = config::SpoolDirectory(config);
  note(CheckWritable("archive_directory", archive));
  note(CheckWritable("spool.directory", spool));
  if (!config.web().disabled()) {
    note(CheckWritable("web.volume_cache_directory", config::VolumeCacheDirectory(config)));
  }
  const std::optional<int> replaced = storage::HolderOfDirectory(archive);
  const std::optional<int> holder = storage::HolderOfDirectory(spool);
  if (holder && holder != replaced) {
    note(OfDirectory("spool.directory", spool, storage::InUse(spool, holder, "directory")));
  }
  if (replaced) return notes;  // the ports are its own
  for (const config::Listener& listener : config::ListenersOf(config)) {
    note(CheckFree(listener));  // also of any free port: the address may be none of this machine's
  }
  return notes;
}

}  // namespace isocenter::daemon
