// Events as lines of JSON and as DICOM audit messages, whatever strangers send.
#include <cstdio>
#include <pugixml.hpp>

#include "gmock/gmock.h"
#include "server/audit/audit_message.h"
#include "server/audit/bounds.h"
#include "server/audit/chain.h"
#include "server/audit/json_line.h"
#include "server/audit/text.h"
#include "tests/server/audit/audit_events.h"

namespace isocenter::audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Whether a parser that takes nothing illegal reads it; 0: it does.
int ReadByExpat(const std::string& xml) {
  FILE* const python = popen(
      "/usr/bin/python3 -c 'import sys, xml.parsers.expat as e; "
      "e.ParserCreate().Parse(sys.stdin.buffer.read(), True)'",
      "w");
  fwrite(xml.data(), 1, xml.size(), python);
  return pclose(python);
}

TEST(JsonLine, LineHasWhatIsKnown) {
  const auto json = nlohmann::json::parse(ToJson(TestEvent()));
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

TEST(JsonLine, BytesThatAreNoTextLoseNoRecord) {
  Event event = TestEvent();
  event.actor.name = "\xff\xfe\n";
  const std::string line = ToJson(event);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_EQ(nlohmann::json::parse(line).at("matches"), 3);
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
  const std::string frame = ToSyslogFrame({7, TestEvent()}, "ISOCENTER", "host", 42);
  const size_t space = frame.find(' ');
  EXPECT_EQ(std::stoul(frame.substr(0, space)), frame.size() - space - 1);
  EXPECT_THAT(frame.substr(space + 1),
              StartsWith("<85>1 2026-01-02T03:04:05.000Z host isocenterd 42 DICOM+RFC3881 "
                         "[meta sequenceId=\"7\"] "
                         "\xef\xbb\xbf<?xml"));
}

TEST(Bounds, AnIdOf60MebibytesLeavesARecordOfLessThanFourKibibytes) {
  for (const char* piece : {"j", "\"", "\xff", "\xe5\xb1\xb1"}) {
    std::string id;
    for (int i = 0; i < 2000; ++i) id += piece;
    id.resize(60 << 20, 'x');
    const std::string text = id.substr(0, 6000);
    Event event{.action = Action::kDelete,
                .outcome = Outcome::kRefused,
                .actor = {.name = text, .address = text, .certificate_subject = text},
                .service = "grpc",
                .detail = text};
    event.job_ids.push_back(std::move(id));
    const std::vector<Event> parts = Bounded(std::move(event));
    ASSERT_THAT(parts, SizeIs(1));
    Link last;
    const std::string line = Chain(ToJson(parts[0]), last);
    EXPECT_LT(line.size(), 4096u);
    EXPECT_THAT(parts[0].job_ids[0], HasSubstr("... (cut, 62914560 bytes)"));
    EXPECT_EQ(nlohmann::json::parse(line).at("job_ids")[0], parts[0].job_ids[0]);
  }
}

/// As many of the longest texts as an event may have, all of a character that grows most.
Event Longest(const std::string& piece) {
  std::string text;
  while (text.size() < 10000) text += piece;
  const std::vector<std::string> many(100, text);
  return {.action = Action::kRetrieve,
          .outcome = Outcome::kRefused,
          .actor = {text, text, text},
          .service = "dicom",
          .destination = text,
          .patient_ids = many,
          .study_uids = many,
          .job_ids = many,
          .query = many,
          .matches = 1,
          .detail = text,
          .time = absl::Now(),
          .count = INT64_MAX,
          .since = absl::Now(),
          .lost = INT64_MAX,
          .torn_bytes = INT64_MAX};
}

TEST(Bounds, NoRecordAndNoMessageIsLonger) {
  for (const char* piece : {"\"", "\\", "&", "<", "\xff", "\xef\xbf\xbe", "\t"}) {
    for (const Event& part : Bounded(Longest(piece))) {
      Link last{.number = INT64_MAX - 1};
      EXPECT_LT(Chain(ToJson(part), last).size(), kMostLineBytes);
      const std::string xml = ToAuditMessage(part, "ISOCENTER");
      EXPECT_LT(xml.size(), kMostMessageBytes);
      if (part.part == 1) {
        EXPECT_EQ(ReadByExpat(xml), 0) << xml.size();
      }
    }
  }
}

TEST(Bounds, WhoseDataItWasIsNeverCut) {
  Event event = TestEvent();
  event.patient_ids.clear();
  event.study_uids.clear();
  for (int i = 0; i < 20; ++i) event.patient_ids.push_back(absl::StrCat("P", i));
  for (int i = 0; i < 3; ++i) event.study_uids.push_back(absl::StrCat("1.2.", i));
  const std::vector<Event> parts = Bounded(event);
  ASSERT_THAT(parts, SizeIs(3));
  std::vector<std::string> patients, studies;
  for (const Event& part : parts) {
    EXPECT_EQ(part.parts, 3);
    patients.insert(patients.end(), part.patient_ids.begin(), part.patient_ids.end());
    studies.insert(studies.end(), part.study_uids.begin(), part.study_uids.end());
  }
  EXPECT_EQ(patients, event.patient_ids);
  EXPECT_EQ(studies, event.study_uids);
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(Bounded("abc", 3), "abc");
  EXPECT_EQ(Bounded("abcd", 3), "abc... (cut, 4 bytes)");
  EXPECT_EQ(Bounded("a\xe5\xb1\xb1", 3), "a... (cut, 4 bytes)");
  EXPECT_EQ(Bounded("\xff\xff", 3), "\xef\xbf\xbd... (cut, 2 bytes)");
  EXPECT_EQ(Bounded(std::string(5, '\xbf'), 4).substr(0, 3), "\xef\xbf\xbd");
}

TEST(Text, HasNothingThatEndsALine) {
  // As readers in several languages divide lines.
  EXPECT_EQ(Legal("a\nb\x0b\x1c\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xa9z"), "a b      z");
}

TEST(JsonLine, IsReadBack) {
  for (Event event : Bounded(Longest("\xe5\xb1\xb1"))) {
    event.time = event.since = absl::FromUnixMillis(1767323045678);
    const auto read = FromJson(ToJson(event));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(ToJson(*read) == ToJson(event)) << ToJson(*read).size();
  }
  for (const char* text : {"", "{}", "[1]", "{\"action\":1}", "{\"action\":\"none\"}"}) {
    EXPECT_FALSE(FromJson(text).ok()) << text;
  }
}

TEST(JsonLine, NumbersThatDoNotFitAreNoRecord) {
  const auto with = [](const char* member) {
    return FromJson(absl::StrCat(
        R"({"time":"2026-01-02T03:04:05Z","action":"call","outcome":"refused",)", member, "}"));
  };
  EXPECT_EQ(with(R"("part":2147483647)")->part, 2147483647);
  EXPECT_EQ(with(R"("count":9223372036854775807)")->count, 9223372036854775807);
  for (const char* member : {R"("part":1e300)", R"("parts":2147483648)",
                             R"("count":9223372036854775808)", R"("lost":-1)", R"("matches":1.5)",
                             R"("instances":"3")", R"("part":true)", R"("failed":null)"}) {
    EXPECT_EQ(with(member).status().code(), absl::StatusCode::kInvalidArgument) << member;
  }
  EXPECT_THAT(std::string(with(R"("part":1e300)").status().message()),
              ::testing::HasSubstr("part is 1e+300; legal is a whole number of 0 to 2147483647"));
}

TEST(Event, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(Action::kTrail); ++i) {
    const auto action = static_cast<Action>(i);
    EXPECT_EQ(ActionOf(Name(action)), action);
    EXPECT_THAT(ToAuditMessage({.action = action, .time = absl::Now()}, "S"),
                HasSubstr("csd-code"));
  }
  for (int i = 0; i <= static_cast<int>(Outcome::kCancelled); ++i) {
    EXPECT_EQ(OutcomeOf(Name(static_cast<Outcome>(i))), static_cast<Outcome>(i));
  }
  EXPECT_FALSE(ActionOf("").has_value());
}

}  // namespace
}  // namespace isocenter::audit
