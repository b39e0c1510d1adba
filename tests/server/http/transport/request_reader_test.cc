#include "server/http/transport/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/server/http/transport/mutations.h"

namespace isocenter::http {
namespace {

using State = RequestReader::State;

constexpr size_t kMostBody = 100;

/// The HTTP status of the refusal; 0: none.
int RefusalOf(std::string bytes) {
  RequestReader reader(kMostBody);
  return reader.Read(bytes) == State::kRefused ? reader.TakeRefusal().status : 0;
}

TEST(RequestReader, ARequestIsTheSameHoweverItIsCut) {
  const std::string text =
      "POST /a%20b/c?x=1&y=%26+z HTTP/1.1\r\nHost: ct\r\nX-Twice: 1\r\nx-twice: 2\r\n"
      "Content-Length: 4\r\n\r\nbody";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    RequestReader reader(kMostBody);
    std::string bytes = text.substr(0, cut);
    const State first = reader.Read(bytes);
    if (cut < text.size()) {
      EXPECT_TRUE(first == State::kHeader || first == State::kBody) << cut;
      bytes += text.substr(cut);
      ASSERT_EQ(reader.Read(bytes), State::kComplete) << cut;
    }
    EXPECT_TRUE(reader.keeps_alive());
    const Request request = reader.TakeRequest();
    EXPECT_EQ(bytes, "");
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/a b/c");
    EXPECT_EQ(request.Parameter("y"), "& z");
    EXPECT_EQ(request.Header("host"), "ct");
    EXPECT_EQ(request.Header("x-twice"), "2");
    EXPECT_EQ(request.body, "body");
  }
}

TEST(RequestReader, OneComesBehindTheOther) {
  RequestReader reader(kMostBody);
  std::string bytes =
      "POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n"
      "GET /2 HTTP/1.1\r\nConnection: close\r\n\r\nGET /3";
  ASSERT_EQ(reader.Read(bytes), State::kComplete);
  EXPECT_TRUE(reader.keeps_alive());
  EXPECT_EQ(reader.TakeRequest().body, "abc");
  ASSERT_EQ(reader.Read(bytes), State::kComplete);
  EXPECT_FALSE(reader.keeps_alive());
  EXPECT_EQ(reader.TakeRequest().path, "/2");
  EXPECT_EQ(reader.Read(bytes), State::kHeader);
  EXPECT_EQ(bytes, "GET /3");
}

TEST(RequestReader, WhatIsTooLongIsNamed) {
  const std::string header(RequestReader::kMostHeaderBytes, 'x');
  EXPECT_EQ(RefusalOf(absl::StrCat("GET /", header, " HTTP/1.1\r\n\r\n")), 431);
  EXPECT_EQ(RefusalOf(absl::StrCat("GET / HTTP/1.1\r\nX: ", header)), 431);
  const std::string post = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(RefusalOf(post + "Content-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(RefusalOf(post + "Content-Length: 100\r\n\r\n"), 0);
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(RefusalOf(absl::StrCat(chunked, "65\r\n", std::string(101, 'x'), "\r\n0\r\n\r\n")),
            413);
  // What comes between the pieces has no length that is said before.
  EXPECT_EQ(RefusalOf(absl::StrCat(chunked, "1;", header)), 400);
  EXPECT_EQ(RefusalOf(absl::StrCat(chunked, "0\r\nX: ", header)), 400);
}

TEST(RequestReader, WhatIsNoRequestIsRefused) {
  for (const char* text :
       {"GARBAGE\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "\x16\x03\x01\x02",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n",
        "GET http://ct/ HTTP/1.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
        "GET noslash HTTP/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /a%00 HTTP/1.1\r\n\r\n",
        "GET /?a=%f HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"}) {
    EXPECT_EQ(RefusalOf(text), 400) << text;
  }
  EXPECT_EQ(RefusalOf(std::string("GET /\0 HTTP/1.1\r\n\r\n", 19)), 400);
  EXPECT_EQ(RefusalOf(std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26)), 400);
}

TEST(RequestReader, AnythingIsARequestOrIsRefused) {
  isocenter::testing::Mutations mutations(1);
  int complete = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    RequestReader reader(kMostBody);
    std::string bytes = mutations.Next();
    for (State state = reader.Read(bytes); state != State::kHeader && state != State::kBody;
         state = reader.Read(bytes)) {
      if (state == State::kRefused) {
        EXPECT_GE(reader.TakeRefusal().status, 400);
        ++refused;
        break;
      }
      const Request request = reader.TakeRequest();
      ASSERT_EQ(request.path.front(), '/');
      ASSERT_EQ(request.path.find('\0'), std::string::npos);
      ASSERT_LE(request.body.size(), kMostBody);
      ++complete;
    }
  }
  EXPECT_GT(complete, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace isocenter::http
