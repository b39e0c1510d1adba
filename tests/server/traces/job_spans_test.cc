#include "server/traces/job_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/traces/trace_context.h"

namespace isocenter::traces {
namespace {

using jobs::JobState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1'800'000'000) + absl::Seconds(seconds);
}

jobs::Job Ended() {
  jobs::Job job;
  job.id = "job-1";
  job.protocol = "fdk";
  job.patient_study.patient_name = "Secret^Name";
  job.state = JobState::kCompleted;
  job.trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  job.create_time = At(0);
  job.end_time = At(12);
  return job;
}

const std::vector<StateChange> kChanges = {{JobState::kReceiving, At(0)},
                                           {JobState::kReconstructing, At(10)},
                                           {JobState::kExporting, At(11)},
                                           {JobState::kCompleted, At(12)}};

std::vector<std::string> NamesOf(const std::vector<Span>& spans) {
  std::vector<std::string> names;
  for (const Span& span : spans) names.push_back(span.name);
  return names;
}

TEST(SpansOf, OneForTheJobAndOneForEachState) {
  const std::vector<Span> spans = SpansOf(Ended(), kChanges);
  EXPECT_THAT(NamesOf(spans), ElementsAre("acquisition", "receive", "reconstruct", "export"));
  EXPECT_EQ(spans[0].parent_span_id, "00f067aa0ba902b7");
  EXPECT_EQ(spans[2].parent_span_id, spans[0].span_id);
  EXPECT_EQ(spans[2].begin, At(10));
  EXPECT_EQ(spans[2].end, At(11));
  EXPECT_TRUE(spans[0].error.empty());
}

TEST(SpansOf, SaysHowAJobFailedAndNothingOfThePatient) {
  jobs::Job job = Ended();
  job.state = JobState::kFailed;
  job.error = absl::DataLossError("frames of Secret^Name never came");
  const std::vector<Span> spans = SpansOf(job, kChanges);
  EXPECT_EQ(spans[0].error, "DATA_LOSS");
  for (const Span& span : spans) {
    for (const auto& [key, value] : span.attributes) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        EXPECT_EQ(text->find("Secret"), text->npos) << key;
      }
    }
  }
}

TEST(SpansOf, NothingThatIsNotSampled) {
  jobs::Job job = Ended();
  job.trace_parent.back() = '0';
  EXPECT_THAT(SpansOf(job, kChanges), IsEmpty());
  EXPECT_THAT(SendSpanOf(job, "PACS", 5, 0, At(20)), IsEmpty());
  job.trace_parent = "";
  EXPECT_THAT(SpansOf(job, kChanges), IsEmpty());
}

TEST(SpansOf, ARefinementHangsBelowItsAcquisition) {
  jobs::Job job = Ended();
  job.id = "job-1-ref";
  job.refinement.algorithm = "os_sart";
  job.source_job_ids = {"job-1"};
  const std::vector<Span> spans = SpansOf(job, {});
  EXPECT_THAT(NamesOf(spans), ElementsAre("refinement"));
  EXPECT_EQ(spans[0].parent_span_id, JobSpanId("job-1"));
}

TEST(DeviceSpansOf, OneForEachStageOfADeviceWithinItsState) {
  const std::vector<Span> spans = SpansOf(Ended(), kChanges);
  // The first chunk begins two seconds after the job.
  const std::string kept =
      R"({"otherData":{"plan":"","begin_unix_us":1800000002000000},"traceEvents":[
        {"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"device 0"}},
        {"name":"upload","ph":"X","pid":0,"tid":1,"ts":0.0,"dur":500000.0},
        {"name":"backproject","ph":"X","pid":0,"tid":2,"ts":500000.0,"dur":1000000.0},
        {"name":"backproject","ph":"X","pid":0,"tid":2,"ts":4000000.0,"dur":1000000.0}]})";
  const std::vector<Span> devices = DeviceSpansOf(Ended(), spans, kept);
  EXPECT_THAT(NamesOf(devices), ElementsAre("device 0 backproject", "device 0 upload"));
  EXPECT_EQ(devices[0].begin, At(2.5));
  EXPECT_EQ(devices[0].end, At(7));
  EXPECT_EQ(devices[0].parent_span_id, spans[1].span_id);  // receive
  EXPECT_DOUBLE_EQ(std::get<double>(devices[0].attributes[0].second), 2.0);
  EXPECT_EQ(std::get<int64_t>(devices[0].attributes[1].second), 2);
}

TEST(DeviceSpansOf, NothingOfWhatIsNoTrace) {
  const std::vector<Span> spans = SpansOf(Ended(), kChanges);
  for (
      const char* kept :
      {"", "[]", "{", R"({"otherData":{}})", R"({"otherData":{"begin_unix_us":"1"}})",
       R"({"otherData":{"plan":""},"traceEvents":[]})",
       // Damaged: values of other types, and none.
       R"({"otherData":7,"traceEvents":[]})",
       R"({"otherData":{"begin_unix_us":1},"traceEvents":[7]})",
       R"({"otherData":{"begin_unix_us":1},"traceEvents":[{"ph":7}]})",
       R"({"otherData":{"begin_unix_us":1},"traceEvents":[{"ph":"X"}]})",
       R"({"otherData":{"begin_unix_us":1},"traceEvents":[{"ph":"X","name":"n","pid":0,"ts":"0","dur":1}]})",
       R"({"otherData":{"begin_unix_us":1},"traceEvents":[{"ph":"X","name":9,"pid":0,"ts":0,"dur":1}]})"}) {
    EXPECT_THAT(DeviceSpansOf(Ended(), spans, kept), IsEmpty()) << kept;
  }
}

TEST(SendSpanOf, RunsFromTheEndOfTheJob) {
  const std::vector<Span> spans = SendSpanOf(Ended(), "PACS", 512, 2, At(30));
  ASSERT_EQ(spans.size(), 1);
  EXPECT_EQ(spans[0].begin, At(12));
  EXPECT_EQ(spans[0].end, At(30));
  EXPECT_FALSE(spans[0].error.empty());
  EXPECT_NE(spans[0].span_id, SendSpanOf(Ended(), "PACS", 512, 2, At(31))[0].span_id);
}

}  // namespace
}  // namespace isocenter::traces
