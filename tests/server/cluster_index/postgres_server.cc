#include "tests/server/cluster_index/postgres_server.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace isocenter::cluster_index {
namespace {

constexpr char kPrograms[] = "/usr/lib/postgresql/15/bin/";

/// What a shell command writes. The program ends where it fails.
std::string Must(const std::string& command) {
  FILE* const pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  if (pipe == nullptr) std::abort();
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  if (pclose(pipe) == 0) return output;
  std::fprintf(stderr, "%s: %s\n", command.c_str(), output.c_str());
  std::abort();
}

/// One that ends while they are counted needs no signal.
void SignalChildren(int process, absl::string_view signal) {
  Must(absl::StrCat("for child in $(ps -o pid= --ppid ", process, "); do kill -", signal,
                    " $child || true; done"));
}

}  // namespace

PostgresServer& PostgresServer::Get() {
  static const std::unique_ptr<PostgresServer> server(new PostgresServer);
  return *server;
}

std::string PostgresServer::As(const std::string& command) const {
  return absl::StrCat(
      "cd / && ", geteuid() == 0 ? "setpriv --reuid=nobody --regid=nogroup --clear-groups " : "",
      kPrograms, command);
}

PostgresServer::PostgresServer() {
  if (geteuid() == 0) {
    const passwd* const nobody = getpwnam("nobody");
    if (nobody == nullptr ||
        chown(directory_.path().c_str(), nobody->pw_uid, nobody->pw_gid) != 0) {
      std::fprintf(stderr, "no user nobody to run PostgreSQL as\n");
      std::abort();
    }
  }
  Must(As(absl::StrCat("initdb -D ", directory_.path().string(),
                       "/data -U isocenter -A trust -E UTF8 --locale=C --no-sync")));
  Start();
}

PostgresServer::~PostgresServer() {
  Thaw();
  Kill();
}

void PostgresServer::Start() {
  const std::string at = directory_.path().string();
  Must(As(absl::StrCat("pg_ctl -D ", at, "/data -l ", at, "/log -w -t 120 -o \"-k ", at,
                       " -c listen_addresses= -c fsync=off\" start >/dev/null")));
}

void PostgresServer::Kill() {
  Must(As(absl::StrCat("pg_ctl -D ", directory_.path().string(), "/data -m immediate -w stop")));
}

int PostgresServer::Postmaster() const {
  int pid = 0;
  std::ifstream(directory_.path() / "data/postmaster.pid") >> pid;
  return pid;
}

// Those that serve connections are its children.
void PostgresServer::Freeze() {
  kill(Postmaster(), SIGSTOP);
  SignalChildren(Postmaster(), "STOP");
}

void PostgresServer::Thaw() {
  SignalChildren(Postmaster(), "CONT");
  kill(Postmaster(), SIGCONT);
}

std::string PostgresServer::NewDatabase() {
  const std::string name = absl::StrCat("test", ++databases_);
  const std::string server =
      absl::StrCat("host=", directory_.path().string(), " user=isocenter dbname=");
  Run(server + "postgres", absl::StrCat("CREATE DATABASE ", name));
  return server + name;
}

std::string PostgresServer::Run(const std::string& connection, const std::string& sql) {
  return std::string(absl::StripAsciiWhitespace(Must(absl::StrCat(
      kPrograms, "psql -X -q -A -t -v ON_ERROR_STOP=1 -d '", connection, "' -c \"", sql, "\""))));
}

}  // namespace isocenter::cluster_index
