// What the HTTP server does whatever its handler and its clients do.
#include "server/http/transport/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/server/http/http_client.h"
#include "tests/server/http/transport/mutations.h"

namespace isocenter::testing {
namespace {

using http::HttpOptions;
using http::HttpServer;
using http::Request;
using http::Response;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHost[] = " HTTP/1.1\r\nHost: localhost\r\n";

constexpr size_t kLargeBytes = 24 << 20;

/// "piece 1,", "piece 2,", ... of a length that is not known before; of `fails`, no end.
class PiecesBody : public http::Body {
 public:
  explicit PiecesBody(bool fails) : fails_(fails) {}
  std::optional<int64_t> bytes() const override { return std::nullopt; }
  absl::StatusOr<std::string> Next() override {
    if (made_ < 3) return absl::StrCat("piece ", ++made_, ",");
    if (fails_) return absl::DataLossError("no more");
    return std::string();
  }

 private:
  const bool fails_;
  int made_ = 0;
};

class HttpServerTest : public ::testing::Test {
 protected:
  /// Answers a path with itself, /slow only when `release_` is notified, /large with more than a
  /// network holds, and streams behind stream.
  void Start(HttpOptions options) {
    options.address = "127.0.0.1:0";
    options.urgent = [](const Request& request) { return request.path == "/probe"; };
    auto server = HttpServer::Start(std::move(options), [this](const Request& request) {
      if (absl::StartsWith(request.path, "/slow")) {
        begun_.Notify();
        release_.WaitForNotification();
      }
      Response response{.body = absl::StrCat(request.method, " ", request.path, request.body)};
      if (absl::StartsWith(request.path, "/pieces")) {
        response.body.clear();
        response.long_body = std::make_shared<PiecesBody>(request.path == "/pieces/broken");
      }
      if (request.path == "/large") response.body = std::string(kLargeBytes, 'x');
      if (absl::EndsWith(request.path, "stream")) {
        response.stream = [this](std::unique_ptr<http::Stream> stream) {
          absl::MutexLock lock(&mutex_);
          stream_ = std::move(stream);
        };
      }
      return response;
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int port() const { return server_->port(); }
  HttpAnswer Get(const std::string& path) const { return HttpClient(port()).Get(path); }
  bool WriteToStream(const std::string& text) {
    absl::MutexLock lock(&mutex_);
    AwaitStream();
    return stream_->Write(text);
  }
  void EndStream() {
    absl::MutexLock lock(&mutex_);
    AwaitStream();
    stream_ = nullptr;
  }
  /// It comes behind the beginning of the answer.
  void AwaitStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    mutex_.Await(absl::Condition(
        +[](std::unique_ptr<http::Stream>* stream) { return *stream != nullptr; }, &stream_));
  }

  absl::Notification begun_, release_;
  absl::Mutex mutex_;
  std::unique_ptr<http::Stream> stream_;
  std::unique_ptr<HttpServer> server_;
};

/// All that comes until the end of the connection.
std::string Rest(const RawConnection& connection) {
  std::string text;
  while (connection.Receive(text)) {
  }
  return text;
}

TEST_F(HttpServerTest, RequestsInOnePieceAreAnsweredInTheirOrder) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(
      absl::StrCat("GET /1", kHost, "\r\nHEAD /2", kHost, "\r\nPOST /3", kHost,
                   "Connection: close\r\nContent-Length: 2\r\n\r\nxyGET /4", kHost, "\r\n")));
  const std::string text = Rest(connection);
  const size_t second = text.find("HTTP/1.1", 1), third = text.find("HTTP/1.1", second + 1);
  EXPECT_THAT(text.substr(0, second), EndsWith("Content-Length: 6\r\n\r\nGET /1"));
  EXPECT_THAT(text.substr(second, third - second), EndsWith("Content-Length: 7\r\n\r\n"));
  EXPECT_THAT(text.substr(third), EndsWith("Connection: close\r\n\r\nPOST /3xy"));
}

TEST_F(HttpServerTest, BodiesOfUnknownLengthComeInChunks) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET /pieces", kHost, "\r\nHEAD /pieces", kHost,
                                           "\r\nGET /next", kHost, "Connection: close\r\n\r\n")));
  const std::string text = Rest(connection);
  const size_t second = text.find("HTTP/1.1", 1), third = text.find("HTTP/1.1", second + 1);
  EXPECT_THAT(text.substr(0, second),
              EndsWith("Transfer-Encoding: chunked\r\n\r\n8\r\npiece 1,\r\n8\r\npiece 2,\r\n"
                       "8\r\npiece 3,\r\n0\r\n\r\n"));
  EXPECT_THAT(text.substr(second, third - second), EndsWith("chunked\r\n\r\n"));
  EXPECT_THAT(text.substr(third), EndsWith("GET /next"));
  EXPECT_THAT(text, Not(HasSubstr("Content-Length: 0")));
}

TEST_F(HttpServerTest, WhoTakesNoChunksGetsThemUntilTheEnd) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send("GET /pieces HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(Rest(connection), EndsWith("Connection: close\r\n\r\npiece 1,piece 2,piece 3,"));
}

TEST_F(HttpServerTest, ABodyThatFailsHasNoLastChunk) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET /pieces/broken", kHost, "\r\n")));
  EXPECT_THAT(Rest(connection), EndsWith("8\r\npiece 3,\r\n"));
}

TEST_F(HttpServerTest, WhoHasEndedSendingIsAnswered) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET /x", kHost, "\r\n")));
  connection.EndSending();
  EXPECT_THAT(Rest(connection), EndsWith("GET /x"));
}

TEST_F(HttpServerTest, ProbesDoNotWaitForHandlers) {
  Start({.threads = 1});
  const RawConnection first(port()), second(port());
  ASSERT_TRUE(first.Send(absl::StrCat("GET /slow", kHost, "Connection: close\r\n\r\n")));
  begun_.WaitForNotification();
  ASSERT_TRUE(second.Send(absl::StrCat("GET /other", kHost, "Connection: close\r\n\r\n")));
  EXPECT_EQ(Get("/probe").status, 200);
  EXPECT_FALSE(second.EndsBefore(absl::Now() + absl::Milliseconds(1))) << "it has no thread yet";
  release_.Notify();
  EXPECT_THAT(Rest(first), EndsWith("GET /slow"));
}

TEST_F(HttpServerTest, SlowConnectionsHoldUpNobody) {
  // With more patience than the test has.
  Start({.patience = absl::Seconds(300)});
  std::list<RawConnection> slow;
  for (int i = 0; i < 400; ++i) {
    slow.emplace_back(port(), i % 2 == 0 ? "127.0.0.2" : "127.0.0.3");
    if (i % 4 < 2) slow.back().Send("GET /x HTTP/1.1\r\nX: ");
    if (i % 4 == 2) slow.back().Send("POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
    if (i >= 256) {
      EXPECT_EQ(Get("/probe").status, 200);
    }
  }
}

TEST_F(HttpServerTest, OneAddressTakesAtMostHalfThePlaces) {
  Start({.connections = 8, .patience = absl::Seconds(300)});
  const RawConnection other(port(), "127.0.0.2");
  ASSERT_TRUE(other.Send("GET /x"));
  std::list<RawConnection> many;
  for (int i = 0; i < 40; ++i) many.emplace_back(port());
  // The first ones gave way to the later ones of their address.
  EXPECT_TRUE(many.front().EndsBefore(absl::Now() + absl::Seconds(20)));
  ASSERT_TRUE(many.back().Send(absl::StrCat("GET /y", kHost, "Connection: close\r\n\r\n")));
  EXPECT_THAT(Rest(many.back()), EndsWith("GET /y"));
  ASSERT_TRUE(other.Send(absl::StrCat(kHost, "Connection: close\r\n\r\n")));
  EXPECT_THAT(Rest(other), EndsWith("GET /x"));
}

TEST_F(HttpServerTest, WhoIsBeingAnsweredKeepsThePlace) {
  Start({.connections = 2, .patience = absl::Seconds(300)});
  const RawConnection asking(port());
  ASSERT_TRUE(asking.Send(absl::StrCat("GET /slow", kHost, "Connection: close\r\n\r\n")));
  begun_.WaitForNotification();
  EXPECT_EQ(Get("/x").status, 0) << "half of two places is one";
  release_.Notify();
  EXPECT_THAT(Rest(asking), EndsWith("GET /slow"));
}

TEST_F(HttpServerTest, AStreamGoesOnUntilItIsGone) {
  Start({});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET /stream", kHost, "\r\n")));
  std::string text;
  while (!absl::EndsWith(text, "GET /stream")) ASSERT_TRUE(connection.Receive(text));
  EXPECT_THAT(text, HasSubstr("Connection: close"));
  EXPECT_THAT(text, Not(HasSubstr("Content-Length")));
  EXPECT_TRUE(WriteToStream(" more"));
  EXPECT_TRUE(WriteToStream(" and more"));
  EndStream();
  EXPECT_EQ(Rest(connection), " more and more");
}

TEST_F(HttpServerTest, AStreamThatIsNotTakenEnds) {
  Start({.patience = absl::Milliseconds(200)});
  const RawConnection connection(port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET /stream", kHost, "\r\n")));
  std::string text;
  while (!absl::EndsWith(text, "GET /stream")) ASSERT_TRUE(connection.Receive(text));
  const absl::Time begin = absl::Now();
  while (WriteToStream(std::string(10'000, 'x')) && absl::Now() - begin < absl::Seconds(60)) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
  EndStream();
}

TEST_F(HttpServerTest, AnswersThatNobodyTakesAreBounded) {
  Start({.most_answer_bytes = 2 * kLargeBytes + 4096});
  std::list<RawConnection> connections;
  for (int i = 0; i < 3; ++i) {
    const RawConnection& connection = connections.emplace_back(port());
    ASSERT_TRUE(connection.Send(absl::StrCat("GET /large", kHost, "Connection: close\r\n\r\n")));
    std::string beginning;
    ASSERT_TRUE(connection.Receive(beginning));
  }
  EXPECT_LT(Rest(connections.front()).size(), kLargeBytes - (1 << 20)) << "it was closed";
  connections.pop_front();
  for (const RawConnection& connection : connections) {
    EXPECT_GT(Rest(connection).size(), kLargeBytes - (1 << 20));
  }
}

TEST_F(HttpServerTest, WhatIsUnderWayAtTheEndIsAnswered) {
  Start({.patience = absl::Seconds(1)});
  const RawConnection asking(port()), idle(port()), streaming(port());
  ASSERT_TRUE(streaming.Send(absl::StrCat("GET /stream", kHost, "\r\n")));
  {
    absl::MutexLock lock(&mutex_);
    AwaitStream();  // a request that is not read before the end has no stream
  }
  ASSERT_TRUE(asking.Send(absl::StrCat("GET /slow", kHost, "\r\n")));
  begun_.WaitForNotification();
  std::thread stopping([this] { server_.reset(); });
  EXPECT_TRUE(idle.EndsBefore(absl::Now() + absl::Seconds(20)));
  EXPECT_TRUE(streaming.EndsBefore(absl::Now() + absl::Seconds(20)));
  release_.Notify();
  EXPECT_THAT(Rest(asking), EndsWith("Connection: close\r\n\r\nGET /slow"));
  stopping.join();
  EndStream();  // may be written to, and ended, after the server
}

TEST_F(HttpServerTest, AStreamThatBeginsAtTheEndEnds) {
  Start({});
  const RawConnection streaming(port());
  ASSERT_TRUE(streaming.Send(absl::StrCat("GET /slow-stream", kHost, "\r\n")));
  begun_.WaitForNotification();
  std::thread stopping([this] { server_.reset(); });
  absl::SleepFor(absl::Milliseconds(20));  // it is likely to stop before the answer
  release_.Notify();
  EXPECT_TRUE(streaming.EndsBefore(absl::Now() + absl::Seconds(20)));
  stopping.join();
  EndStream();
}

TEST_F(HttpServerTest, AnAddressThatIsTakenIsAnError) {
  Start({});
  const std::string taken = absl::StrCat("127.0.0.1:", port());
  const auto second =
      HttpServer::Start({.address = taken}, [](const Request&) { return Response(); });
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("cannot be listened on: Address already in use"));
}

TEST_F(HttpServerTest, MutatedRequestsLeaveItAsItWas) {
  Start({.patience = absl::Seconds(5)});
  Mutations mutations(2);
  for (int i = 0; i < 3000; ++i) {
    const RawConnection connection(port());
    connection.Send(mutations.Next());
    connection.EndSending();
    const std::string text = Rest(connection);
    EXPECT_TRUE(text.empty() || absl::StartsWith(text, "HTTP/1.1 ")) << text;
  }
  EXPECT_EQ(Get("/x").body, "GET /x");
}

}  // namespace
}  // namespace isocenter::testing
