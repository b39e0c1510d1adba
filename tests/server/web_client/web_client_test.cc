// What every request to another's web server has in common, over real sockets.
#include "server/web_client/web_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/crypto/server_context.h"
#include "server/http/transport/http_server.h"
#include "tests/server/fakes/scripted_web_server.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::web {
namespace {

using ::testing::HasSubstr;
using Server = isocenter::testing::ScriptedWebServer;

/// Byte `offset` of a body that is nowhere in memory.
char ByteAt(uint64_t offset) { return static_cast<char>('a' + offset % 23); }

Body Streamed(uint64_t bytes) {
  return {.bytes = bytes, .read = [](uint64_t offset, std::span<char> piece) {
            for (size_t i = 0; i < piece.size(); ++i) piece[i] = ByteAt(offset + i);
            return absl::OkStatus();
          }};
}

TEST(WebRequest, StreamsItsBody) {
  // Long enough that the client asks first whether the server wants it.
  constexpr uint64_t kBytes = 3'000'001;
  Server server([](const Server::Seen&) {
    return Server::Answer("200 OK", "text/plain; charset=utf-8", "fine", "Retry-After: 7\r\n");
  });
  const auto answer = Ask({.url = server.url() + "/studies",
                           .headers = {"Content-Type: a/b", "X-Name: value"},
                           .body = Streamed(kBytes),
                           .most_bytes = 4},
                          {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(answer->retry_after, absl::Seconds(7));
  EXPECT_EQ(answer->body, "fine");
  const Server::Seen seen = server.seen().at(0);
  EXPECT_THAT(seen.head, HasSubstr("POST /studies HTTP/1.1\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nContent-Type: a/b\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nX-Name: value\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nContent-Length: 3000001\r\n"));
  ASSERT_EQ(seen.body.size(), kBytes);
  uint64_t offset = 0;
  EXPECT_TRUE(std::ranges::all_of(seen.body, [&](char c) { return c == ByteAt(offset++); }));
}

TEST(WebRequest, EndsWithTheErrorOfItsBody) {
  Server server([](const Server::Seen&) { return Server::Answer("200 OK", "a/b", ""); });
  Body body = Streamed(200'000);
  body.read = [](uint64_t, std::span<char>) { return absl::NotFoundError("the file is gone"); };
  const auto answer = Ask({.url = server.url(), .body = body, .most_bytes = 10}, {});
  EXPECT_EQ(answer.status(), absl::NotFoundError("the file is gone"));
}

TEST(WebRequest, HearsARefusalBeforeItHasSentAll) {
  Server server([](const Server::Seen&) { return Server::Answer("401 No", "a/b", ""); },
                /*reads_body=*/false);
  const auto answer = Ask({.url = server.url(), .body = Streamed(50 << 20), .most_bytes = 10}, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 401);
}

TEST(WebRequest, BoundsWhatIsAnswered) {
  std::string further;
  Server server(
      [&](const Server::Seen&) { return Server::Answer("200 OK", "a/b", "12345", further); });
  const auto ask = [&](std::optional<size_t> most) {
    return Ask({.url = server.url(), .most_bytes = most}, {});
  };
  EXPECT_EQ(ask(5)->body, "12345");
  EXPECT_THAT(std::string(ask(4).status().message()), HasSubstr("longer than 4 bytes"));
  const auto dropped = ask(std::nullopt);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(dropped->body, "");
  for (int i = 0; i < 100; ++i)
    absl::StrAppend(&further, "X-", i, ": ", std::string(1000, 'x'), "\r\n");
  EXPECT_TRUE(absl::IsUnavailable(ask(5).status()));
  EXPECT_THAT(std::string(ask(5).status().message()), HasSubstr("headers"));
}

TEST(WebRequest, TakesNoHalfAnswerAndNoOtherLanguage) {
  std::string raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
  Server server([&](const Server::Seen&) { return raw; });
  const auto ask = [&] { return Ask({.url = server.url(), .most_bytes = 1000}, {}).status(); };
  EXPECT_TRUE(absl::IsUnavailable(ask()));
  raw = "garbage\r\n\r\n";
  EXPECT_TRUE(absl::IsUnavailable(ask()));
  raw = "";
  EXPECT_TRUE(absl::IsUnavailable(ask()));
}

TEST(WebRequest, IsNotLedElsewhere) {
  Server elsewhere([](const Server::Seen&) { return Server::Answer("200 OK", "a/b", ""); });
  Server server([&](const Server::Seen&) {
    return Server::Answer("307 Moved", "a/b", "",
                          absl::StrCat("Location: ", elsewhere.url(), "\r\n"));
  });
  const auto answer = Ask({.url = server.url(), .body = BodyOf("secret"), .most_bytes = 10}, {});
  EXPECT_EQ(answer->status, 307);
  EXPECT_TRUE(elsewhere.seen().empty());
  EXPECT_TRUE(absl::IsUnavailable(Ask({.url = "file:///etc/hostname"}, {}).status()));
}

TEST(WebRequest, WaitsNoLongerThanItMay) {
  absl::Notification end;
  Server server([&](const Server::Seen&) {
    end.WaitForNotificationWithTimeout(absl::Minutes(1));
    return std::string();
  });
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(
      Ask({.url = server.url(), .limit = absl::Milliseconds(200)}, {}).status()));
  end.Notify();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
}

TEST(WebRequest, WaitsNoLongerForAByteThanItMay) {
  absl::Notification end;
  Server server([&](const Server::Seen&) {
    end.WaitForNotificationWithTimeout(absl::Minutes(1));
    return std::string();
  });
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(
      Ask({.url = server.url(), .limit = absl::Minutes(1), .stall_limit = absl::Milliseconds(500)},
          {})
          .status()));
  end.Notify();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
}

TEST(WebRequest, IsEndedFromWithin) {
  absl::Notification asked, end;
  Server server([&](const Server::Seen&) {
    asked.Notify();
    end.WaitForNotificationWithTimeout(absl::Minutes(1));
    return std::string();
  });
  const auto answer = Ask({.url = server.url(),
                           .limit = absl::Minutes(1),
                           .stopped = [&] { return asked.HasBeenNotified(); }},
                          {});
  end.Notify();
  EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
}

TEST(WebRequest, ShowsItsCertificate) {
  const isocenter::testing::TemporaryDirectory files;
  const TestCertificates certificates(files.path());
  certificates.MakeAuthority("hospital");
  certificates.Make("pacs", "hospital");
  certificates.Make("node", "hospital");
  http::HttpOptions options{.address = "127.0.0.1:0"};
  options.tls = *crypto::MakeServerContext("tls", {.certificate_file = certificates.Pem("pacs"),
                                                   .private_key_file = certificates.Key("pacs"),
                                                   .client_ca_file = certificates.Pem("hospital")});
  std::string subject;
  const auto server = *http::HttpServer::Start(std::move(options), [&](const http::Request& seen) {
    subject = seen.certificate_subject;
    return http::Response{};
  });
  const std::string url = absl::StrCat("https://127.0.0.1:", server->port(), "/");
  Trust trust{.ca_file = certificates.Pem("hospital")};
  ASSERT_TRUE(Ask({.url = url}, trust).ok());
  EXPECT_EQ(subject, "");
  trust.certificate_file = certificates.Pem("node");
  trust.private_key_file = certificates.Key("node");
  ASSERT_TRUE(Ask({.url = url}, trust).ok());
  EXPECT_EQ(subject, "CN=node,O=Hospital");
  trust.private_key_file = certificates.Key("pacs");
  EXPECT_TRUE(absl::IsUnavailable(Ask({.url = url}, trust).status())) << "the key of another";
}

}  // namespace
}  // namespace isocenter::web
