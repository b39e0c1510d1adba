#include "server/daemon/machine_faults.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
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

/// Whether the kernel itself makes up what is in this file system: it takes no files of programs.
bool IsMadeUp(const fs::path& directory) {
  struct statfs found {};
  if (statfs(directory.c_str(), &found) != 0) return false;
  // proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, devpts. Source: statfs(2).
  constexpr std::array<int64_t, 8> kMadeUp = {0x9fa0,     0x62656572, 0x27e0eb,   0x63677270,
                                              0x64626720, 0x74726163, 0x73636673, 0x1cd1};
  return std::ranges::find(kMadeUp, int64_t{found.f_type}) != kMadeUp.end();
}

/// 0, or why no file can be made in a directory that is there. What the rights say is not all: a
/// disk may be read-only, a directory immutable. The file that is made has no name.
int ErrorOfMaking(const fs::path& directory) {
  if (access(directory.c_str(), W_OK | X_OK) != 0) return errno;
  const int file = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return 0;
  }
  const int error = errno;
  if (error == EROFS || error == EACCES || error == EPERM) return error;
  // Not every file system knows nameless files, and with a full disk a start does what it can.
  return IsMadeUp(directory) ? EOPNOTSUPP : 0;
}

/// Whether this user may write to a directory, or make it in the nearest above that is there.
absl::Status CheckWritable(const std::string& field, const std::string& path) {
  std::error_code none;
  fs::path nearest = fs::absolute(path, none);
  while (nearest.has_relative_path() && !fs::exists(nearest, none)) nearest = nearest.parent_path();
  const int error = fs::is_directory(nearest, none) ? ErrorOfMaking(nearest) : ENOTDIR;
  if (error == 0) return absl::OkStatus();
  return OfDirectory(field, path, storage::FileError(error, "write to", nearest));
}

}  // namespace

std::vector<absl::Status> MachineFaults(const v1::ServerConfig& config) {
  std::vector<absl::Status> faults;
  const auto note = [&](absl::Status status) {
    if (!status.ok()) faults.push_back(std::move(status));
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
  if (replaced) return faults;  // the ports are its own
  for (const config::Listener& listener : config::ListenersOf(config)) {
    note(CheckFree(listener));  // also of any free port: the address may be none of this machine's
  }
  return faults;
}

}  // namespace isocenter::daemon
