#include "server/http/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::http {
namespace {

using ::testing::HasSubstr;

std::string HeaderOf(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

class PageTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = files_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  Response Get(const Page& page, const std::string& path,
               std::map<std::string, std::string> headers = {}) {
    return page.Answer({.method = "GET", .path = path, .headers = std::move(headers)});
  }
  isocenter::testing::TemporaryDirectory files_;
};

TEST_F(PageTest, FilesHaveTheirTypesAndAreKeptByBrowsers) {
  Write("index.html", "<p>");
  Write("assets/app-12ab.js", "1");
  Write("favicon.svg", "<svg/>");
  const auto page = Page::Load(files_.path());
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(Get(*page, "/").body, "<p>");
  EXPECT_EQ(HeaderOf(Get(*page, "/"), "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(HeaderOf(Get(*page, "/"), "Cache-Control"), "no-cache");
  const Response script = Get(*page, "/assets/app-12ab.js");
  EXPECT_EQ(HeaderOf(script, "Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(HeaderOf(script, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(HeaderOf(Get(*page, "/favicon.svg"), "Content-Type"), "image/svg+xml");
  const std::string tag = HeaderOf(script, "ETag");
  const Response again = Get(*page, "/assets/app-12ab.js", {{"if-none-match", tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
}

TEST_F(PageTest, TypedPathsGiveTheIndex) {
  Write("index.html", "<p>");
  const auto page = Page::Load(files_.path());
  EXPECT_EQ(Get(*page, "/jobs").body, "<p>");
  EXPECT_EQ(Get(*page, "/none.js").status, 404);
  // Its assets are relative: below another folder it would be a blank page.
  EXPECT_EQ(Get(*page, "/jobs/20260101T000000-1").status, 404);
  EXPECT_EQ(page->Answer({.method = "POST", .path = "/"}).status, 405);
}

TEST_F(PageTest, ProgramsAtTheWrongDoorAreNotGivenThePage) {
  Write("index.html", "<p>");
  const auto page = Page::Load(files_.path());
  for (const auto& [path, told] : {std::pair("/metrics", "metrics are at --metrics_address"),
                                   {"/healthz", "did you mean /livez or /readyz?"},
                                   {"/ready", "did you mean /readyz?"},
                                   {"/api/jobs", "begin with /api/v1/"}}) {
    const Response response = Get(*page, path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_THAT(response.body, HasSubstr(told));
  }
  const Response sent = page->Answer({.method = "POST", .path = "/dicom-web/studies"});
  EXPECT_EQ(sent.status, 405);
  EXPECT_THAT(sent.body, HasSubstr("instances are not stored from outside"));
}

TEST_F(PageTest, AFolderIsItsIndex) {
  Write("index.html", "<p>");
  Write("docs/index.html", "<h1>");
  Write("docs/runbook.html", "<h2>");
  const auto page = Page::Load(files_.path());
  EXPECT_EQ(Get(*page, "/docs/").body, "<h1>");
  EXPECT_EQ(Get(*page, "/docs/runbook.html").body, "<h2>");
  const Response without_slash = Get(*page, "/docs");
  EXPECT_EQ(without_slash.status, 302);
  EXPECT_EQ(HeaderOf(without_slash, "Location"), "docs/");
  EXPECT_EQ(Get(*page, "/docs/none").status, 404);
}

TEST_F(PageTest, WhoReadsIsLedOnFromWhatIsNotThere) {
  Write("index.html", "<p>");
  Write("docs/index.html", "<h1>");
  Write("docs/not-found.html", "<a href=\"WAY-UP/index.html\"><a href=\"WAY-UP/style.css\">");
  const auto page = Page::Load(files_.path());
  const std::map<std::string, std::string> browser = {{"accept", "text/html,*/*;q=0.8"}};
  const Response beside = Get(*page, "/docs/none.html", browser);
  EXPECT_EQ(beside.status, 404);
  EXPECT_EQ(HeaderOf(beside, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(beside.body, "<a href=\"../docs/index.html\"><a href=\"../docs/style.css\">");
  EXPECT_THAT(Get(*page, "/docs/adr/0001.html", browser).body,
              HasSubstr("\"../../docs/index.html\""));
  EXPECT_THAT(Get(*page, "/none.html", browser).body, HasSubstr("\"docs/index.html\""));
  // Its own address has no way up: it is not there either.
  EXPECT_EQ(Get(*page, "/docs/not-found.html", browser).status, 404);
  // Programs are told in their language, and nobody has the links repeated a thousand times longer.
  EXPECT_EQ(HeaderOf(Get(*page, "/docs/none.html", {{"accept", "*/*"}}), "Content-Type"),
            "application/json");
  const Response deep = Get(*page, "/docs" + std::string(2000, '/'), browser);
  EXPECT_EQ(deep.status, 404);
  EXPECT_LT(deep.body.size(), 3000);
}

TEST_F(PageTest, PackedFilesGoToThoseWhoTakeThem) {
  Write("index.html", "<p>");
  Write("assets/a.js", "plain");
  Write("assets/a.js.gz", "packed");
  const auto page = Page::Load(files_.path());
  const Response plain = Get(*page, "/assets/a.js");
  EXPECT_EQ(plain.body, "plain");
  EXPECT_EQ(HeaderOf(plain, "Vary"), "Accept-Encoding");
  const Response packed = Get(*page, "/assets/a.js", {{"accept-encoding", "gzip"}});
  EXPECT_EQ(packed.body, "packed");
  EXPECT_EQ(HeaderOf(packed, "Content-Encoding"), "gzip");
  EXPECT_NE(HeaderOf(packed, "ETag"), HeaderOf(plain, "ETag"));
}

TEST_F(PageTest, WithoutAPageThereIsANotice) {
  for (const auto& directory : {std::filesystem::path(), files_.path(), files_.path() / "none"}) {
    const auto page = Page::Load(directory);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_THAT(Get(*page, "/").body, HasSubstr("was not built"));
  }
}

}  // namespace
}  // namespace isocenter::http
