#include "server/http/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "server/jobs/job_members.h"
#include "tests/server/fakes/full_job.h"

namespace isocenter::http {
namespace {

Json Detailed(const jobs::Job& job, std::optional<double> frames_per_second = std::nullopt) {
  Json json = JobJson(job, frames_per_second);
  AddDetails(job, json);
  return json;
}

jobs::Job CompletedJob() {
  jobs::Job job = testing::FullJob();
  job.state = jobs::JobState::kCompleted;
  job.error = absl::OkStatus();
  return job;
}

TEST(JobJson, IsTheSameByteForByte) {
  std::ifstream answers(ISOCENTER_SOURCE_DIR "/tests/server/http/jobs.jsonl");
  std::string full, empty;
  ASSERT_TRUE(std::getline(answers, full) && std::getline(answers, empty));
  EXPECT_EQ(Dump(Detailed(CompletedJob(), 30.5)), full);
  jobs::Job job;
  job.id = "j";
  EXPECT_EQ(Dump(Detailed(job)), empty);
}

// Whoever adds a member to a job says here that it is kept back, or shows it.
TEST(JobJson, EveryMemberOfAJobIsShownOrKeptBack) {
  const std::map<std::string, std::string> other_names = {
      {"id", "job_id"}, {"class", "job_class"}, {"facts", "acquisition"}};
  // Of the identity of patient and study the page has the numbers of study and order.
  const std::set<std::string> kept_back = {"request_id",    "begun_by", "trace_parent",
                                           "patient_study", "order",    "dicom_forms"};
  const Json json = Detailed(CompletedJob());
  const auto check = [&](const char* name, const auto&, const jobs::Shown& = {}) {
    const auto other = other_names.find(name);
    const std::string shown = other == other_names.end() ? name : other->second;
    EXPECT_NE(json.contains(shown), kept_back.contains(name)) << name;
  };
  const jobs::Job job;
  jobs::VisitMembers(check, job);
}

// The values of FullJob: none of them is in any answer.
TEST(JobJson, NothingTellsWhoThePatientIs) {
  const std::string text = Dump(Detailed(CompletedJob()));
  for (const char* secret : {"\u5c71\u7530", "PID", "19700101", "House^G", "Tech^N", "STUDY"}) {
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace isocenter::http
