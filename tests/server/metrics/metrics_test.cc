#include "server/metrics/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/metrics/station_metrics.h"

namespace isocenter::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The body of GET /metrics.
std::string Scraped(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  EXPECT_EQ(write(connection, request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = read(connection, buffer, sizeof(buffer))) > 0;) answer.append(buffer, n);
  close(connection);
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

jobs::Job CompletedJob(const std::string& id, double gups) {
  jobs::Job job;
  job.id = id;
  job.state = jobs::JobState::kCompleted;
  job.patient_study.patient_name = "Doe^Jane";
  job.result.kernel_gups = gups;
  job.result.whole_gups = 0.8 * gups;
  job.result.seconds_after_last_frame = 0.3;
  job.result.timings = {.preprocess = 0.1, .filter = 0.2, .backproject = 1.5, .export_ = 0.4};
  return job;
}

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = metrics_.Serve(
        "127.0.0.1:0",
        {.readiness =
             [] {
               return Readiness{.not_ready = {"admission", "spool"}, .is_drained = true};
             },
         .jobs =
             [] {
               return jobs::JobCounts{{{jobs::JobState::kFailed, jobs::JobClass::kLive}, 3},
                                      {{jobs::JobState::kFailed, jobs::JobClass::kBatch}, 4}};
             },
         .max_active_jobs = 16,
         .no_device_unix_seconds = 1e9,
         .queue_depth = [] { return int64_t{5}; },
         .disks =
             [] {
               return std::vector<DiskSpace>{{"archive", 9000, 4000, 1500}};
             },
         .jobs_waiting_for_room = [] { return 2; },
         .damaged_job_records = [] { return 1; },
         .device_memory =
             [] {
               return std::vector<DeviceMemory>{{"cpu0", 1000, 250}};
             },
         .devices_healthy =
             [] {
               return std::vector<DeviceHealth>{{"cuda0", true, 2}, {"cuda1", false, 1}};
             },
         .spool =
             [] {
               return SpoolState{.capacity_bytes = 5000,
                                 .used_bytes = 3000,
                                 .reclaimable_bytes = 2000,
                                 .last_sync_seconds = 0.25};
             },
         .audit_file =
             [] {
               return AuditFileState{300, 1000, 7, false};
             },
         .audit_waiting = [] { return int64_t{12}; },
         .procedure_steps =
             [] {
               return ProcedureSteps{.steps = {{"failed", 2}}, .oldest_seconds = 30};
             },
         .quality =
             [] {
               return std::vector<QualityTest>{
                   {"room1",
                    "head",
                    1000000000,
                    {{"noise_hu", 21.5, 1.5},
                     {"water_hu", 2, std::nullopt},
                     {"mtf50", 0, std::numeric_limits<double>::infinity()}}}};
             },
         .tokens_are_right = [] { return false; }});
    ASSERT_TRUE(status.ok()) << status;
  }
  Metrics metrics_{{.version = "1.2.3", .backend = "cpu"}};
};

TEST_F(MetricsTest, CountsWhatHappens) {
  metrics_.OnFrame(100);
  metrics_.OnFrame(150);
  metrics_.OnJobAccepted({});
  metrics_.OnJobEnded(CompletedJob("job-1", 4.2));
  jobs::Job failed;
  failed.state = jobs::JobState::kFailed;
  failed.job_class = jobs::JobClass::kInteractive;
  metrics_.OnJobEnded(failed);
  metrics_.OnRefused(absl::ResourceExhaustedError(""), "Angio-1");
  metrics_.OnFrameRefused(absl::DataLossError(""));
  metrics_.OnDicomOperation("find", "success");
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_received_frames_total 2\n",
           "isocenter_received_bytes_total 250\n",
           "isocenter_accepted_jobs_total{class=\"live\"} 1\n",
           "isocenter_accepted_jobs_total{class=\"batch\"} 0\n",
           "isocenter_jobs_total{class=\"live\",outcome=\"completed\"} 1\n",
           "isocenter_jobs_total{class=\"interactive\",outcome=\"failed\"} 1\n",
           "isocenter_jobs_total{class=\"live\",outcome=\"failed\"} 0\n",
           "isocenter_jobs_total{class=\"live\",outcome=\"cancelled\"} 0\n",
           "isocenter_jobs{state=\"failed\",class=\"live\"} 3\n",
           "isocenter_jobs{state=\"failed\",class=\"batch\"} 4\n",
           "isocenter_jobs{state=\"receiving\",class=\"interactive\"} 0\n",
           "isocenter_stage_duration_seconds_bucket{stage=\"backproject\",le=\"1\"} 0\n",
           "isocenter_stage_duration_seconds_bucket{stage=\"backproject\",le=\"2\"} 1\n",
           "isocenter_kernel_gups_bucket{le=\"4\"} 0\n",
           "isocenter_kernel_gups_bucket{le=\"5\"} 1\n",
           "isocenter_whole_gups_count 1\n",
           "isocenter_recent_job_kernel_gups{job_id=\"job-1\"} 4.2",
           "isocenter_after_last_frame_seconds_sum 0.3",
           "isocenter_queue_depth 5\n",
           "isocenter_device_memory_bytes{device=\"cpu0\",kind=\"limit\"} 1000\n",
           "isocenter_device_memory_bytes{device=\"cpu0\",kind=\"used\"} 250\n",
           "isocenter_refused_total{reason=\"resource_exhausted\"} 1\n",
           "isocenter_refused_frames_total{reason=\"data_loss\"} 1\n",
           "isocenter_refused_frames_total{reason=\"invalid_argument\"} 0\n",
           "isocenter_dicom_operations_total{operation=\"find\",outcome=\"success\"} 1\n",
           "isocenter_build_info{backend=\"cpu\",version=\"1.2.3\"} 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("Doe")));
}

TEST_F(MetricsTest, CountsWhatHappensWhileTheArmTurns) {
  metrics_.OnFrameSpooled(0.0003);
  metrics_.OnFrameSpooled(0.03);
  metrics_.OnWarning(jobs::WarningKind::kDoseDip);
  metrics_.OnPrediction("cuda0", 2.0, 3.0);
  metrics_.OnPrediction("cuda0", 0.0, 3.0);  // not known
  metrics_.OnJobResumed("console");
  metrics_.OnEarlyRefinement("used");
  metrics_.OnDeviceLost("cuda1");
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_frame_ack_seconds_bucket{le=\"0.0002\"} 0\n",
           "isocenter_frame_ack_seconds_bucket{le=\"0.0005\"} 1\n",
           "isocenter_frame_ack_seconds_count 2\n",
           "isocenter_warnings_total{kind=\"dose_dip\"} 1\n",
           "isocenter_early_refinements_total{outcome=\"used\"} 1\n",
           "isocenter_early_refinements_total{outcome=\"given_up\"} 0\n",
           "isocenter_warnings_total{kind=\"device_replaced\"} 0\n",
           "isocenter_prediction_error_ratio_count{device=\"cuda0\"} 1\n",
           "isocenter_prediction_error_ratio_sum{device=\"cuda0\"} 1.5\n",
           "isocenter_jobs_resumed_total{reason=\"console\"} 1\n",
           "isocenter_jobs_resumed_total{reason=\"restart\"} 0\n",
           "isocenter_jobs_resumed_total{reason=\"device\"} 0\n",
           "isocenter_device_lost_total{device=\"cuda0\"} 0\n",
           "isocenter_device_lost_total{device=\"cuda1\"} 1\n",
           "isocenter_device_healthy{device=\"cuda0\"} 1\n",
           "isocenter_device_healthy{device=\"cuda1\"} 0\n",
           "isocenter_device_gpus{device=\"cuda0\"} 2\n",
           "isocenter_no_device_time_seconds 1000000000\n",
           "isocenter_spool_bytes{kind=\"capacity\"} 5000\n",
           "isocenter_spool_bytes{kind=\"used\"} 3000\n",
           "isocenter_spool_bytes{kind=\"reclaimable\"} 2000\n",
           "isocenter_spool_last_sync_seconds 0.25\n",
           "isocenter_procedure_steps{state=\"failed\"} 2\n",
           "isocenter_procedure_steps_oldest_seconds 30\n",
           "isocenter_quality_value{station=\"room1\",protocol=\"head\",measure=\"noise_hu\"} "
           "21.5\n",
           "isocenter_quality_value{station=\"room1\",protocol=\"head\",measure=\"water_hu\"} 2\n",
           "isocenter_quality_deviation{station=\"room1\",protocol=\"head\",measure=\"noise_hu\"} "
           "1.5\n",
           "isocenter_quality_deviation{station=\"room1\",protocol=\"head\",measure=\"mtf50\"} "
           "+Inf\n",
           "isocenter_quality_test_time_seconds{station=\"room1\",protocol=\"head\"} 1000000000\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, RefinementsAreCountedByAlgorithm) {
  jobs::Job job{.id = "job-1-ref", .state = jobs::JobState::kCompleted};
  job.refinement.algorithm = "os_sqs";
  job.progress.iterations_done = 8;
  job.station_name = "room-9";
  job.result.timings.refine = 1.5;
  metrics_.OnJobEnded(job);
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_refinement_seconds_bucket{algorithm=\"os_sqs\",le=\"1\"} 0\n",
           "isocenter_refinement_seconds_bucket{algorithm=\"os_sqs\",le=\"2\"} 1\n",
           "isocenter_refinement_iterations_bucket{algorithm=\"os_sqs\",le=\"7\"} 0\n",
           "isocenter_refinement_iterations_bucket{algorithm=\"os_sqs\",le=\"10\"} 1\n",
           // It says nothing of how soon after an exposure a volume is there.
           "isocenter_after_last_frame_seconds_count 0\n",
           "isocenter_kernel_gups_count 0\n",
           "isocenter_refinements_total{outcome=\"completed\"} 1\n",
           "isocenter_refinements_total{outcome=\"failed\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("job-1-ref")));
  EXPECT_THAT(text, Not(HasSubstr("room-9")));
}

TEST_F(MetricsTest, ASecondPassHasNoIterations) {
  jobs::Job job{.id = "job-1-ref", .state = jobs::JobState::kCompleted};
  job.refinement.algorithm = "second_pass_metal";
  job.refinement.second_pass = {.metal = true};
  job.result.timings.refine = 1.5;
  metrics_.OnJobEnded(job);
  const std::string text = Scraped(metrics_.port());
  EXPECT_THAT(text, HasSubstr("isocenter_refinement_seconds_bucket{algorithm=\"second_pass_metal\","
                              "le=\"2\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("isocenter_refinements_total{outcome=\"completed\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("isocenter_refinement_iterations_bucket")));
}

TEST_F(MetricsTest, AlertsHaveTheirSeriesFromTheStart) {
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_refused_total{reason=\"resource_exhausted\"} 0\n",
           "isocenter_refused_total{reason=\"unavailable\"} 0\n",
           "isocenter_refinements_total{outcome=\"failed\"} 0\n",
           "isocenter_device_voxel_updates_total{device=\"cuda0\"} 0\n",
           "isocenter_device_busy_seconds_total{device=\"cuda1\"} 0\n",
           "isocenter_disk_bytes{directory=\"archive\",kind=\"size\"} 9000\n",
           "isocenter_disk_bytes{directory=\"archive\",kind=\"free\"} 4000\n",
           "isocenter_disk_bytes{directory=\"archive\",kind=\"promised\"} 1500\n",
           "isocenter_jobs_waiting_for_room 2\n",
           "isocenter_damaged_job_records 1\n",
           "isocenter_audit_bytes{kind=\"used\"} 300\n",
           "isocenter_audit_bytes{kind=\"limit\"} 1000\n",
           "isocenter_audit_writable 0\n",
           "isocenter_audit_records_lost_total 7\n",
           "isocenter_audit_waiting_records 12\n",
           "isocenter_max_active_jobs 16\n",
           "isocenter_ready 0\n",
           "isocenter_not_ready{component=\"admission\"} 1\n",
           "isocenter_not_ready{component=\"spool\"} 1\n",
           "isocenter_not_ready{component=\"archive\"} 0\n",
           "isocenter_drained 1\n",
           "isocenter_tokens_file_ok 0\n",
           "# TYPE process_cpu_seconds_total counter\n",
           "process_start_time_seconds ",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, TellsTheMachinesClock) {
  const double before = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  const std::string text = Scraped(metrics_.port());
  const double after = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  constexpr char kName[] = "\nisocenter_clock_seconds ";
  const size_t found = text.find(kName);
  ASSERT_NE(found, std::string::npos);
  const double told = std::strtod(text.c_str() + found + sizeof(kName) - 1, nullptr);
  constexpr double kRounding = 1e-3;
  EXPECT_GE(told, before - kRounding);
  EXPECT_LE(told, after + kRounding);
}

TEST_F(MetricsTest, TheSpeedOfADeviceIsItsUpdatesByItsBusyTime) {
  metrics_.OnComputed("cuda0", 3e9, 0.5);
  metrics_.OnComputed("cuda0", 1e9, 0.25);
  const std::string text = Scraped(metrics_.port());
  EXPECT_THAT(text,
              HasSubstr("isocenter_device_voxel_updates_total{device=\"cuda0\"} 4000000000\n"));
  EXPECT_THAT(text, HasSubstr("isocenter_device_busy_seconds_total{device=\"cuda0\"} 0.75\n"));
}

TEST_F(MetricsTest, ASubtractionIsNoAcquisition) {
  jobs::Job job = CompletedJob("job-1", 0);
  job.station_name = "room-2";
  job.pair_role = jobs::PairRole::kSubtraction;
  job.progress.frames_received = job.progress.frames_total = 100;  // those of its halves
  metrics_.OnJobEnded(job);
  const std::string text = Scraped(metrics_.port());
  EXPECT_THAT(text, HasSubstr("isocenter_after_last_frame_seconds_count 0\n"));
  EXPECT_THAT(text, HasSubstr("isocenter_kernel_gups_count 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("isocenter_recent_job_kernel_gups{")));
  EXPECT_THAT(text, Not(HasSubstr("station=\"room-2\"")));
  EXPECT_THAT(text, HasSubstr("outcome=\"completed\"} 1\n"));
}

TEST_F(MetricsTest, JobsAreCountedByStation) {
  jobs::Job job = CompletedJob("job-1", 4.2);
  job.station_name = "room-2";
  job.progress.frames_received = 98;
  job.progress.frames_lost = 2;
  job.progress.frames_total = 100;
  job.warnings.resize(3);
  metrics_.OnJobEnded(job);
  job.state = jobs::JobState::kFailed;
  metrics_.OnJobEnded(job);
  job.station_name.clear();
  metrics_.OnJobEnded(job);
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_station_jobs_total{outcome=\"completed\",station=\"room-2\"} 1\n",
           "isocenter_station_jobs_total{outcome=\"failed\",station=\"room-2\"} 1\n",
           "isocenter_station_jobs_total{outcome=\"cancelled\",station=\"room-2\"} 0\n",
           "isocenter_station_jobs_total{outcome=\"failed\",station=\"unnamed\"} 1\n",
           "isocenter_station_frames_total{kind=\"received\",station=\"room-2\"} 196\n",
           "isocenter_station_frames_total{kind=\"lost\",station=\"room-2\"} 4\n",
           "isocenter_station_warnings_total{station=\"room-2\"} 6\n",
           "isocenter_station_after_last_frame_seconds_count{station=\"room-2\"} 1\n",
           "isocenter_station_after_last_frame_seconds_bucket{station=\"room-2\",le=\"0.2\"} 0\n",
           "isocenter_station_after_last_frame_seconds_bucket{station=\"room-2\",le=\"0.5\"} 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, ConsolesCannotMakeLabelsWithoutEnd) {
  jobs::Job job = CompletedJob("job-1", 1);
  for (size_t i = 0; i < StationMetrics::kMostStations + 5; ++i) {
    job.station_name = absl::StrCat("station-", i);
    metrics_.OnJobEnded(job);
  }
  job.station_name = "station-0";
  metrics_.OnJobEnded(job);
  const std::string text = Scraped(metrics_.port());
  for (const char* line : {
           "isocenter_station_jobs_total{outcome=\"completed\",station=\"station-0\"} 2\n",
           "isocenter_station_jobs_total{outcome=\"completed\",station=\"station-63\"} 1\n",
           "isocenter_station_jobs_total{outcome=\"completed\",station=\"other\"} 5\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("station-64")));
}

TEST_F(MetricsTest, TheWindowOfRecentJobsIsBounded) {
  for (size_t i = 0; i < Metrics::kRecentJobs + 3; ++i) {
    metrics_.OnJobEnded(CompletedJob(absl::StrCat("job-", i), 1));
  }
  const std::string text = Scraped(metrics_.port());
  EXPECT_THAT(text, Not(HasSubstr("job_id=\"job-2\"")));
  EXPECT_THAT(text, HasSubstr("job_id=\"job-3\""));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("job_id=\"job-", Metrics::kRecentJobs + 2, "\"")));
}

TEST_F(MetricsTest, NamesFollowTheConventions) {
  if (std::system("command -v promtool > /dev/null") != 0) {
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  }
  metrics_.OnJobEnded(CompletedJob("job-1", 4.2));
  metrics_.OnRefused(absl::NotFoundError(""), "Angio-1");
  metrics_.OnDicomOperation("echo", "success");
  metrics_.OnPrediction("cuda0", 2.0, 3.0);
  const std::string file = ::testing::TempDir() + "isocenter_metrics_test.txt";
  std::ofstream(file) << Scraped(metrics_.port());
  EXPECT_EQ(std::system(("promtool check metrics < " + file).c_str()), 0);
}

TEST_F(MetricsTest, ATakenAddressIsAnError) {
  Metrics second({.version = "1", .backend = "cpu"});
  EXPECT_EQ(second.Serve(absl::StrCat("127.0.0.1:", metrics_.port()), {}).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace isocenter::metrics
