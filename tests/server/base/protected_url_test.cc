#include "server/base/protected_url.h"

#include <gtest/gtest.h>

namespace isocenter {
namespace {

TEST(Url, IsProtectedByTlsOrByThisMachine) {
  for (const char* url : {"https://pacs.example", "https://10.1.2.3:8443/a?b=c", "http://127.0.0.1",
                          "http://localhost:8042/a", "http://[::1]:8042/a", "http://[::1]"}) {
    EXPECT_TRUE(IsProtectedUrl(url)) << url;
    EXPECT_TRUE(IsWebUrl(url)) << url;
  }
  for (const char* url :
       {"http://pacs.example", "http://10.1.2.3:8042/a", "http://127.0.0.1.example/",
        "http://localhost.example:80", "http://[::2]/"}) {
    EXPECT_FALSE(IsProtectedUrl(url)) << url;
    EXPECT_TRUE(IsWebUrl(url)) << url;
  }
}

TEST(Url, WhatIsNoneProtectsNothing) {
  for (const char* url :
       {"", "pacs.example", "ftp://pacs.example", "https:/pacs.example", "https://",
        "https:///path", "https://user@pacs.example", "https://user:word@pacs.example/",
        "http://127.0.0.1@pacs.example/", "https://pacs.example/#part", "https://pacs.example/a b",
        "https://pacs.example/\n", "https://pacs.example\\@127.0.0.1/",
        "https://p\303\266cs.example"}) {
    EXPECT_FALSE(IsWebUrl(url)) << url;
    EXPECT_FALSE(IsProtectedUrl(url)) << url;
  }
}

TEST(Url, HasAHost) {
  EXPECT_EQ(HostOfUrl("https://pacs.example:8443/a/b?c#d"), "pacs.example:8443");
  EXPECT_EQ(HostOfUrl("http://[::1]:80"), "[::1]:80");
  EXPECT_EQ(HostOfUrl("pacs.example"), "");
}

}  // namespace
}  // namespace isocenter
