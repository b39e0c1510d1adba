#include "server/http/transport/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::http {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Http, DecodesPercentAndRefusesWhatIsNotLegal) {
  EXPECT_EQ(Decode("a%20b%2Fc", false), "a b/c");
  EXPECT_EQ(Decode("a+b", false), "a+b");
  EXPECT_EQ(Decode("a+b", true), "a b");
  EXPECT_EQ(Decode("%41", false), "A");  // at the very end
  for (const char* illegal : {"%", "%4", "%zz", "a%00b"}) {
    EXPECT_EQ(Decode(illegal, false), std::nullopt) << illegal;
  }
}

TEST(Http, CutsQueries) {
  EXPECT_THAT(*ParseQuery("a=1&b=x%3Dy&&c"),
              ElementsAre(Pair("a", "1"), Pair("b", "x=y"), Pair("c", "")));
  EXPECT_EQ(ParseQuery("a=%"), std::nullopt);
  Request request{.query = *ParseQuery("state=a,b&state=c&other=d")};
  EXPECT_THAT(request.List("state"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(request.Parameter("other"), "d");
  EXPECT_EQ(request.Parameter("none"), std::nullopt);
}

TEST(Http, FindsCookies) {
  Request request;
  request.headers["cookie"] = "xisocenter=no; isocenter=yes ;other=1";
  EXPECT_EQ(request.Cookie("isocenter"), "yes");
  EXPECT_EQ(request.Cookie("iso"), "");
}

TEST(Http, KnowsWhatIsAccepted) {
  Request request;
  EXPECT_FALSE(request.AcceptsGzip());
  for (const char* yes : {"gzip", "br, GZIP;q=0.5", "deflate,gzip"}) {
    request.headers["accept-encoding"] = yes;
    EXPECT_TRUE(request.AcceptsGzip()) << yes;
  }
  for (const char* no : {"br", "gzip;q=0", "xgzip", "gzip;x"}) {
    request.headers["accept-encoding"] = no;
    EXPECT_FALSE(request.AcceptsGzip()) << no;
  }
}

TEST(Http, ComparesTags) {
  EXPECT_TRUE(Matches("\"a\", \"b\"", "\"b\""));
  EXPECT_TRUE(Matches("W/\"a\"", "\"a\""));
  EXPECT_TRUE(Matches("*", "\"a\""));
  EXPECT_FALSE(Matches("\"ab\"", "\"a\""));
  EXPECT_FALSE(Matches("", "\"a\""));
}

}  // namespace
}  // namespace isocenter::http
