#include "server/traces/trace_context.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace isocenter::traces {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpan[] = "00f067aa0ba902b7";

TEST(ParseTraceParent, ReadsWhatTheRecommendationShows) {
  const auto context = ParseTraceParent(absl::StrCat("00-", kTrace, "-", kSpan, "-01"));
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, kTrace);
  EXPECT_EQ(context->span_id, kSpan);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(TraceParent(*context), absl::StrCat("00-", kTrace, "-", kSpan, "-01"));
  EXPECT_FALSE(ParseTraceParent(absl::StrCat("00-", kTrace, "-", kSpan, "-00"))->sampled);
  // Other flags may come.
  EXPECT_TRUE(ParseTraceParent(absl::StrCat("00-", kTrace, "-", kSpan, "-ff"))->sampled);
}

TEST(ParseTraceParent, TakesLaterVersions) {
  EXPECT_TRUE(ParseTraceParent(absl::StrCat("cc-", kTrace, "-", kSpan, "-01")));
  EXPECT_TRUE(ParseTraceParent(absl::StrCat("cc-", kTrace, "-", kSpan, "-01-more")));
}

TEST(ParseTraceParent, TakesNothingElse) {
  const std::string zeros(32, '0');
  for (const std::string& text :
       {std::string(), std::string("00"), std::string(55, '-'), std::string(1000, '0'),
        absl::StrCat("ff-", kTrace, "-", kSpan, "-01"),
        absl::StrCat("00-", zeros, "-", kSpan, "-01"),
        absl::StrCat("00-", kTrace, "-0000000000000000-01"),
        absl::StrCat("00-", kTrace, "-", kSpan, "-01-more"),
        absl::StrCat("00-", kTrace, "-", kSpan, "-0x"),
        absl::StrCat("00_", kTrace, "-", kSpan, "-01"),
        absl::StrCat("cc-", kTrace, "-", kSpan, "-01more"),
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        absl::StrCat("00-", kTrace, "-", kSpan, "-0", std::string(1, '\0'))}) {
    EXPECT_FALSE(ParseTraceParent(text)) << text;
  }
}

TEST(TraceParentOf, IsTheConsolesOrTheJobsOwn) {
  const std::string told = absl::StrCat("00-", kTrace, "-", kSpan, "-00");
  EXPECT_EQ(TraceParentOf("job", told, 1), told);
  const auto own = ParseTraceParent(TraceParentOf("job", "nonsense\r\nx: y", 1));
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->sampled);
  EXPECT_EQ(own->span_id, JobSpanId("job"));
  // Wherever and whenever it is asked.
  EXPECT_EQ(TraceParentOf("job", "", 1), TraceParentOf("job", "other nonsense", 1));
  EXPECT_NE(TraceParentOf("job", "", 1), TraceParentOf("job2", "", 1));
}

TEST(TraceParentOf, SamplesAsOftenAsItIsTold) {
  int sampled = 0;
  for (int i = 0; i < 2000; ++i) {
    sampled += ParseTraceParent(TraceParentOf(absl::StrCat("job-", i), "", 0.3))->sampled;
    EXPECT_FALSE(ParseTraceParent(TraceParentOf(absl::StrCat("job-", i), "", 0))->sampled);
  }
  EXPECT_NEAR(sampled, 600, 80);  // four standard deviations
}

}  // namespace
}  // namespace isocenter::traces
