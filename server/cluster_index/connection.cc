#include "server/cluster_index/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/cluster_index/text.h"

namespace isocenter::cluster_index {
namespace {

struct Clearer {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clearer>;

/// In one line; has no password.
std::string MessageOf(const PGconn* connection) {
  absl::string_view message = absl::StripAsciiWhitespace(PQerrorMessage(connection));
  return absl::StrReplaceAll(message, {{"\n", " "}, {"\t", ""}});
}

/// What PostgreSQL has refused. Details, and messages on values, have the values in them.
absl::Status ErrorOf(const PGresult* result) {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string state = field == nullptr ? "" : field;
  const std::string what =
      absl::StrCat("PostgreSQL: ", primary == nullptr ? "" : primary, " (SQLSTATE ", state, ")");
  if (state == "57014") return absl::DeadlineExceededError(what);  // statement_timeout
  if (state == "42501") return absl::PermissionDeniedError(what);
  // A row that another transaction has just removed: trying again helps.
  if (state == "23503") return absl::UnavailableError("PostgreSQL: a row went (SQLSTATE 23503)");
  if (absl::StartsWith(state, "22") || absl::StartsWith(state, "23") || state == "54000") {
    return absl::InvalidArgumentError(
        absl::StrCat("PostgreSQL does not take a value (SQLSTATE ", state, ")"));
  }
  // Lost connections, a lack of resources, an operator; rollbacks; a standby.
  for (const char* passing : {"08", "25006", "40", "53", "55", "57", "58"}) {
    if (absl::StartsWith(state, passing)) return absl::UnavailableError(what);
  }
  return absl::InternalError(what);
}

}  // namespace

std::string Row::Text(int column) const {
  return {PQgetvalue(result_, 0, column), static_cast<size_t>(PQgetlength(result_, 0, column))};
}

int64_t Row::Integer(int column) const {
  int64_t number = 0;
  return absl::SimpleAtoi(Text(column), &number) ? number : 0;
}

void Connection::Closer::operator()(PGconn* connection) const { PQfinish(connection); }

absl::Status Connection::Broken(absl::StatusCode code, const std::string& what) {
  is_broken_ = true;
  return {code, what};
}

absl::Status Connection::Wait(short events, absl::Time deadline) {  // NOLINT(google-runtime-int)
  constexpr absl::Duration kSlice = absl::Milliseconds(100);
  for (;;) {
    if (stopped_ && stopped_()) return Broken(absl::StatusCode::kCancelled, "stopped");
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return Broken(absl::StatusCode::kDeadlineExceeded, "PostgreSQL does not answer in time");
    }
    pollfd descriptor = {PQsocket(connection_.get()), events, 0};
    const auto milliseconds = absl::ToInt64Milliseconds(std::min(left, kSlice)) + 1;
    const int ready = poll(&descriptor, 1, static_cast<int>(milliseconds));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return Broken(absl::StatusCode::kUnavailable, "the connection to PostgreSQL is gone");
    }
  }
}

absl::Status Connection::Connect(absl::Time deadline) {
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) {
      return Broken(absl::StatusCode::kUnavailable,
                    absl::StrCat("PostgreSQL: ", MessageOf(connection_.get())));
    }
    ISO_RETURN_IF_ERROR(Wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline));
    state = PQconnectPoll(connection_.get());
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0) {
    return Broken(absl::StatusCode::kInternal, "PostgreSQL: the connection cannot be nonblocking");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const ConnectionParameters& parameters,
                                                             absl::Time deadline,
                                                             std::function<bool()> stopped) {
  std::vector<const char*> keywords, values;
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  // What the string says stands after these, and for them.
  add("application_name", "isocenter");
  add("keepalives_idle", "30");
  add("keepalives_interval", "10");
  add("keepalives_count", "3");
  for (const auto& [keyword, value] : parameters) add(keyword.c_str(), value.c_str());
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
  std::unique_ptr<PGconn, Closer> started(
      PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/0));
  if (started == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  PQsetNoticeProcessor(
      started.get(), [](void*, const char*) {}, nullptr);
  std::unique_ptr<Connection> connection(new Connection(std::move(started), std::move(stopped)));
  ISO_RETURN_IF_ERROR(connection->Connect(deadline));
  return connection;
}

absl::Status Connection::Send(const std::string& sql, const std::vector<archive::Value>& values,
                              absl::Time deadline) {
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  texts.reserve(values.size());
  for (const archive::Value& value : values) {
    texts.push_back(value.is_text() ? Clean(value.text()) : absl::StrCat(value.integer()));
    pointers.push_back(texts.back().c_str());
  }
  if (PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        pointers.data(), nullptr, nullptr, /*resultFormat=*/0) == 0) {
    return Broken(absl::StatusCode::kUnavailable,
                  absl::StrCat("PostgreSQL: ", MessageOf(connection_.get())));
  }
  (void)PQsetSingleRowMode(connection_.get());
  for (int left = 1; (left = PQflush(connection_.get())) != 0;) {
    if (left < 0) {
      return Broken(absl::StatusCode::kUnavailable,
                    absl::StrCat("PostgreSQL: ", MessageOf(connection_.get())));
    }
    ISO_RETURN_IF_ERROR(Wait(POLLIN | POLLOUT, deadline));
    (void)PQconsumeInput(connection_.get());
  }
  return absl::OkStatus();
}

absl::Status Connection::Query(const std::string& sql, const std::vector<archive::Value>& values,
                               absl::Time deadline, const std::function<void(const Row&)>& on_row) {
  if (is_broken_) return absl::UnavailableError("the connection to PostgreSQL is broken");
  ISO_RETURN_IF_ERROR(Send(sql, values, deadline));
  absl::Status status;
  int64_t bytes = 0;
  for (;;) {
    while (PQisBusy(connection_.get()) != 0) {
      ISO_RETURN_IF_ERROR(Wait(POLLIN, deadline));
      if (PQconsumeInput(connection_.get()) == 0) {
        return Broken(absl::StatusCode::kUnavailable,
                      absl::StrCat("PostgreSQL: ", MessageOf(connection_.get())));
      }
    }
    const Result result(PQgetResult(connection_.get()));
    if (result == nullptr) break;
    const ExecStatusType kind = PQresultStatus(result.get());
    if (kind == PGRES_SINGLE_TUPLE) {
      for (int i = 0; i < PQnfields(result.get()); ++i) {
        const int length = PQgetlength(result.get(), 0, i);
        bytes += length;
        if (length > kMostValueBytes || bytes > kMostAnswerBytes) {
          return Broken(absl::StatusCode::kDataLoss,
                        "PostgreSQL: an answer that is larger than any of this program's rows");
        }
      }
      if (status.ok()) on_row(Row(result.get()));
    } else if (kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK) {
      status.Update(ErrorOf(result.get()));
    }
  }
  if (PQstatus(connection_.get()) == CONNECTION_BAD) {
    is_broken_ = true;
    status.Update(absl::UnavailableError("the connection to PostgreSQL is gone"));
  }
  return status;
}

absl::Status Connection::Execute(const std::string& sql, const std::vector<archive::Value>& values,
                                 absl::Time deadline) {
  return Query(sql, values, deadline, [](const Row&) {});
}

absl::Status Connection::InTransaction(const char* begin, absl::Time deadline,
                                       const std::function<absl::Status()>& body) {
  ISO_RETURN_IF_ERROR(Execute(begin, {}, deadline));
  absl::Status status = body();
  if (status.ok()) return Execute("COMMIT", {}, deadline);
  if (!is_broken_ && !Execute("ROLLBACK", {}, deadline).ok()) is_broken_ = true;
  return status;
}

bool Connection::IsAlive() {
  if (is_broken_ || PQstatus(connection_.get()) != CONNECTION_OK) return false;
  pollfd descriptor = {PQsocket(connection_.get()), POLLIN, 0};
  // An idle server says nothing but that it goes.
  if (poll(&descriptor, 1, 0) > 0 && PQconsumeInput(connection_.get()) == 0) is_broken_ = true;
  if (PQstatus(connection_.get()) != CONNECTION_OK) is_broken_ = true;
  return !is_broken_;
}

}  // namespace isocenter::cluster_index
