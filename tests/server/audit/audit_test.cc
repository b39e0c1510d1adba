// Events as lines of JSON, as DICOM audit messages, in a file that rotates, and over TLS.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pugixml.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "server/audit/audit_file.h"
#include "server/audit/audit_message.h"
#include "server/audit/trail.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::audit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Event TestEvent() {
  return {.action = Action::kQuery,
          .outcome = Outcome::kSuccess,
          .actor = {"WORKSTATION", "10.1.2.3", "CN=ws,O=Hospital"},
          .service = "dicom",
          .patient_ids = {"P<1>&\"2\""},
          .query = {"(0010,0010)=山田*"},
          .matches = 3,
          .time = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone())};
}

std::string Content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether a parser that takes nothing illegal reads it; 0: it does.
int ReadByExpat(const std::string& xml) {
  FILE* const python = popen(
      "/usr/bin/python3 -c 'import sys, xml.parsers.expat as e; "
      "e.ParserCreate().Parse(sys.stdin.buffer.read(), True)'",
      "w");
  fwrite(xml.data(), 1, xml.size(), python);
  return pclose(python);
}

int Lines(const fs::path& path) {
  const std::string text = Content(path);
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(AuditFile, LineHasWhatIsKnown) {
  const auto json = nlohmann::json::parse(ToJsonLine(TestEvent()));
  EXPECT_EQ(json.at("time"), "2026-01-02T03:04:05.000Z");
  EXPECT_EQ(json.at("action"), "query");
  EXPECT_EQ(json.at("outcome"), "success");
  EXPECT_EQ(json.at("actor"), "WORKSTATION");
  EXPECT_EQ(json.at("certificate"), "CN=ws,O=Hospital");
  EXPECT_EQ(json.at("query")[0], "(0010,0010)=山田*");
  EXPECT_EQ(json.at("matches"), 3);
  EXPECT_FALSE(json.contains("instances"));
  EXPECT_FALSE(json.contains("destination"));
}

TEST(AuditFile, BytesThatAreNoTextLoseNoRecord) {
  Event event = TestEvent();
  event.actor.name = "\xff\xfe\n";
  const std::string line = ToJsonLine(event);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_EQ(nlohmann::json::parse(line).at("matches"), 3);
}

TEST(AuditFile, RotatesBySizeAndKeepsSome) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "audit.jsonl";
  auto file = AuditFile::Open({.path = path, .max_bytes = 100, .max_files = 2});
  ASSERT_TRUE(file.ok()) << file.status();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(file->Write(std::string(39, 'a' + i)).ok());
  // Two lines of 40 bytes in each; the oldest are gone.
  EXPECT_EQ(Content(path).front(), 'i');
  EXPECT_EQ(Lines(path), 2);
  EXPECT_EQ(Content(path.string() + ".1").front(), 'g');
  EXPECT_EQ(Content(path.string() + ".2").front(), 'e');
  EXPECT_FALSE(fs::exists(path.string() + ".3"));
  struct stat about = {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST(AuditFile, AppendsToWhatIsThere) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "audit.jsonl";
  for (int i = 0; i < 2; ++i) {
    auto file = AuditFile::Open({.path = path});
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("line").ok());
  }
  EXPECT_EQ(Content(path), "line\nline\n");
}

TEST(AuditFile, DirectoryThatIsMissing) {
  const auto file = AuditFile::Open({.path = "/nowhere/audit.jsonl"});
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("/nowhere/audit.jsonl"));
}

TEST(AuditMessage, QueryOfPatients) {
  const std::string xml = ToAuditMessage(TestEvent(), "ISOCENTER");
  for (const char* part :
       {"EventOutcomeIndicator=\"0\"", "csd-code=\"110112\"", "EventActionCode=\"E\"",
        "UserID=\"WORKSTATION\" AlternativeUserID=\"CN=ws,O=Hospital\" UserIsRequestor=\"true\"",
        "NetworkAccessPointID=\"10.1.2.3\"", "ParticipantObjectID=\"P&lt;1>&amp;&quot;2&quot;\"",
        "ParticipantObjectID=\"(0010,0010)=山田*\"", "AuditSourceID=\"ISOCENTER\""}) {
    EXPECT_THAT(xml, HasSubstr(part));
  }
}

TEST(AuditMessage, IsReadWhateverAPeerSends) {
  const std::string none = "\xef\xbf\xbd", two = none + none;
  const std::pair<std::string, std::string> texts[] = {
      {"<a href='x'>&amp;\"", "<a href='x'>&amp;\""},
      {"]]><!--?>", "]]><!--?>"},
      {"a\r\n\tb\x01\x1f" + std::string(1, '\0') + "c", "a   b   c"},
      {"山田 \xf0\x9f\xa9\xbb", "山田 \xf0\x9f\xa9\xbb"},
      {"\xef\xbf\xbe|\xef\xbf\xbf", two + none + "|" + two + none},  // U+FFFE, U+FFFF
      {"\xed\xa0\x80", two + none},                                  // a surrogate
      {"\xc0\xaf|\xe0\x80\xaf", two + "|" + two + none},             // longer than needed
      {"\xf4\x90\x80\x80|\xf8", two + two + "|" + none},             // past U+10FFFF
      {"\xe5\xb1", two},                                             // cut off
      {"M\xfcller", "M" + none + "ller"}};                           // Latin-1
  for (const auto& [sent, read] : texts) {
    Event event = TestEvent();
    event.actor.name = event.actor.certificate_subject = event.detail = sent;
    event.patient_ids = event.study_uids = event.job_ids = event.query = {sent};
    event.destination = sent;
    const std::string xml = ToAuditMessage(event, sent);
    EXPECT_EQ(std::ranges::count(xml, '\n'), 0);
    pugi::xml_document document;
    ASSERT_TRUE(document.load_buffer(xml.data(), xml.size())) << xml;
    const pugi::xml_node message = document.child("AuditMessage");
    EXPECT_EQ(message.child("EventIdentification").child_value("EventOutcomeDescription"), read);
    EXPECT_EQ(message.child("ActiveParticipant").attribute("UserID").value(), read);
    EXPECT_EQ(message.child("AuditSourceIdentification").attribute("AuditSourceID").value(), read);
    int objects = 0;
    for (const pugi::xml_node object : message.children("ParticipantObjectIdentification")) {
      EXPECT_EQ(object.attribute("ParticipantObjectID").value(), read);
      ++objects;
    }
    EXPECT_EQ(objects, 4);
    EXPECT_EQ(ReadByExpat(xml), 0) << xml;
  }
}

TEST(AuditMessage, WhatHasAMessage) {
  Event event{.action = Action::kAssociate};
  EXPECT_FALSE(HasMessage(event));
  event.outcome = Outcome::kRefused;
  EXPECT_TRUE(HasMessage(event));
  const std::string xml = ToAuditMessage(event, "S");
  EXPECT_THAT(xml, HasSubstr("110113"));
  EXPECT_THAT(xml, HasSubstr("EventOutcomeIndicator=\"8\""));
}

TEST(AuditMessage, FrameTellsItsLengthInBytes) {
  const std::string frame = ToSyslogFrame(TestEvent(), "ISOCENTER", "host", 42);
  const size_t space = frame.find(' ');
  EXPECT_EQ(std::stoul(frame.substr(0, space)), frame.size() - space - 1);
  EXPECT_THAT(frame.substr(space + 1),
              StartsWith("<85>1 2026-01-02T03:04:05.000Z host isocenterd 42 DICOM+RFC3881 - "
                         "\xef\xbb\xbf<?xml"));
}

/// openssl's test server on the loopback interface, as the repository.
class Repository {
 public:
  Repository(const TestCertificates& files, const std::string& certificate, const fs::path& output)
      : output_(output) {
    // It ends when its standard input does.
    int input[2];
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    input_ = input[1];
    child_ = fork();
    if (child_ != 0) {
      close(input[0]);
      return;
    }
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    dup2(input[0], 0);
    dup2(open("/dev/null", O_RDWR), 2);
    execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
           files.Pem(certificate).c_str(), "-key", files.Key(certificate).c_str(), nullptr);
    _exit(127);
  }
  ~Repository() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(input_);
  }
  /// The port that it says it listens on; 0 when it does not come.
  int port() const {
    for (int i = 0; i < 2000; ++i) {
      int port = 0;
      const std::string text = Content(output_);
      const size_t at = text.find("ACCEPT 127.0.0.1:");
      if (at != std::string::npos &&
          sscanf(text.c_str() + at, "ACCEPT 127.0.0.1:%d\n", &port) == 1) {
        return port;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    return 0;
  }

 private:
  const fs::path output_;
  int input_ = -1;
  pid_t child_ = -1;
};

class SyslogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    files_.MakeAuthority("ca");
    files_.Make("repository", "ca");
  }
  SyslogOptions Options(const std::string& authority, int port) const {
    return {.host = "127.0.0.1", .port = port, .ca_file = files_.Pem(authority)};
  }
  /// That the repository has written in full.
  int Messages() const {
    const std::string text = Content(output_);
    int messages = 0;
    for (size_t at = 0; (at = text.find("</AuditMessage>", at)) != std::string::npos; ++at)
      ++messages;
    return messages;
  }

  TemporaryDirectory directory_;
  const TestCertificates files_{directory_.path()};
  const fs::path output_ = directory_.path() / "received";
};

TEST_F(SyslogTest, MessagesArriveOverTls) {
  const Repository repository(files_, "repository", output_);
  const int port = repository.port();
  ASSERT_NE(port, 0);
  {
    auto trail = Trail::Open({.syslog = Options("ca", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    for (int i = 0; i < 3; ++i) (*trail)->Record(TestEvent());
    for (int i = 0; i < 2000 && Messages() == 0; ++i) absl::SleepFor(absl::Milliseconds(50));
  }  // what waits is sent before the end, and then read by the repository
  for (int i = 0; i < 2000 && Messages() < 3; ++i) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Messages(), 3) << Content(output_);
}

TEST_F(SyslogTest, RepositoryOfAnotherAuthorityGetsNothing) {
  files_.MakeAuthority("other");
  const Repository repository(files_, "repository", output_);
  const int port = repository.port();
  ASSERT_NE(port, 0);
  {
    auto trail = Trail::Open({.syslog = Options("other", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    (*trail)->Record(TestEvent());
  }  // what waits is tried once at least
  EXPECT_THAT(Content(output_), Not(HasSubstr("AuditMessage")));
  // The repository serves one connection after the other: what had come before would stand there.
  {
    auto trail = Trail::Open({.syslog = Options("ca", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    (*trail)->Record(TestEvent());
    for (int i = 0; i < 2000 && Messages() == 0; ++i) absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(Messages(), 1) << Content(output_);
}

TEST_F(SyslogTest, AuthorityThatCannotBeRead) {
  const auto trail =
      Trail::Open({.syslog = SyslogOptions{.host = "127.0.0.1", .ca_file = "/nowhere/ca.pem"}});
  EXPECT_THAT(std::string(trail.status().message()), HasSubstr("/nowhere/ca.pem"));
}

}  // namespace
}  // namespace isocenter::audit
