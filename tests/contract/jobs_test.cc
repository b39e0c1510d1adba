// JobService.

#include "absl/strings/str_cat.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class JobsTest : public ContractTest {
 protected:
  std::string CompletedJob(const std::string& accession = "A1") {
    v1::AcquisitionHeader header = SmallHeader();
    header.mutable_patient_study()->set_accession_number(accession);
    const Answer answer = Acquire(WholeAcquisition(header));
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.accepted()->job_id();
  }
  /// A job that has got its header and waits for frames.
  struct Receiving {
    grpc::ClientContext context;
    std::unique_ptr<AcquireStream> stream;
    std::string job_id;
  };
  std::unique_ptr<Receiving> ReceivingJob() {
    auto job = std::make_unique<Receiving>();
    SetDeadline(job->context);
    job->stream = acquisitions_->Acquire(&job->context);
    EXPECT_TRUE(job->stream->Write(HeaderMessage(SmallHeader())));
    v1::AcquireResponse response;
    EXPECT_TRUE(job->stream->Read(&response));
    job->job_id = response.accepted().job_id();
    return job;
  }
  template <class Request, class Response>
  grpc::Status Ask(grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                   const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return ((*jobs_).*method)(&context, request, response);
  }
  grpc::Status List(const v1::ListJobsRequest& request, v1::ListJobsResponse* response) {
    return Ask(&v1::JobService::Stub::ListJobs, request, response);
  }
  grpc::Status Download(const std::string& id, v1::ResultFormat format,
                        std::vector<v1::DownloadResultResponse>* pieces) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DownloadResultRequest request;
    request.set_job_id(id);
    request.set_format(format);
    const auto reader = jobs_->DownloadResult(&context, request);
    v1::DownloadResultResponse piece;
    while (reader->Read(&piece)) pieces->push_back(piece);
    return reader->Finish();
  }
};

TEST_F(JobsTest, ListsWithFilterAndPaging) {
  std::vector<std::string> newest_first;
  for (int i = 0; i < 5; ++i) {
    newest_first.insert(newest_first.begin(), CompletedJob(i % 2 == 0 ? "even" : "odd"));
  }
  v1::ListJobsRequest request;
  request.set_page_size(2);
  std::vector<std::string> seen;
  int pages = 0;
  do {
    v1::ListJobsResponse response;
    ASSERT_TRUE(List(request, &response).ok());
    ++pages;
    for (const v1::Job& job : response.job()) seen.push_back(job.job_id());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, newest_first);
  EXPECT_EQ(pages, 3);

  v1::ListJobsRequest odd;
  odd.set_accession_number("odd");
  odd.add_state(v1::JOB_STATE_COMPLETED);
  v1::ListJobsResponse response;
  ASSERT_TRUE(List(odd, &response).ok());
  EXPECT_EQ(response.job_size(), 2);
  odd.set_state(0, v1::JOB_STATE_FAILED);
  ASSERT_TRUE(List(odd, &response).ok());
  EXPECT_EQ(response.job_size(), 0);
}

TEST_F(JobsTest, RefusesBadListings) {
  v1::ListJobsResponse response;
  v1::ListJobsRequest request;
  request.set_page_size(-1);
  EXPECT_THAT(List(request, &response), Invalid({"page_size is -1", "0 to 1000"}));
  request.set_page_size(1001);
  EXPECT_THAT(List(request, &response), Invalid({"page_size is 1001"}));
  request.set_page_size(1);
  for (const char* token : {"nonsense", "!!!!", "AAAA"}) {
    request.set_page_token(token);
    EXPECT_THAT(List(request, &response), Invalid({"page_token is not one"}));
  }
  CompletedJob();
  CompletedJob();
  request.clear_page_token();
  ASSERT_TRUE(List(request, &response).ok());
  request.set_page_token(response.next_page_token());
  request.set_protocol("fdk");
  EXPECT_THAT(List(request, &response), Invalid({"page_token belongs to another filter"}));
  v1::ListJobsRequest state;
  state.add_state(static_cast<v1::JobState>(99));
  EXPECT_THAT(List(state, &response), Invalid({"state is 99"}));
}

TEST_F(JobsTest, GetTellsEverything) {
  const std::string id = CompletedJob();
  const v1::Job job = GetJob(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(job.error_code(), 0);
  EXPECT_EQ(job.progress().frames_received(), 40u);
  EXPECT_EQ(job.progress().frames_backprojected(), 40u);
  EXPECT_EQ(job.progress().slices_exported(), 32u);
  EXPECT_EQ(job.result().series_instance_uid(), "1.2.3.4");
  EXPECT_EQ(job.study_instance_uid(), "1.2.3");
  EXPECT_EQ(job.protocol(), "fdk");
  EXPECT_EQ(job.station_name(), "room-1");
  EXPECT_EQ(job.accession_number(), "A1");
  EXPECT_EQ(job.grid().direction_size(), 9);
  EXPECT_NEAR(static_cast<double>(job.create_time().seconds()),
              static_cast<double>(absl::ToUnixSeconds(absl::Now())), 60);
  EXPECT_GE(job.end_time().seconds(), job.create_time().seconds());
  v1::GetJobRequest unknown;
  unknown.set_job_id("nobody");
  v1::Job none;
  EXPECT_EQ(Ask(&v1::JobService::Stub::GetJob, unknown, &none).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, WatchEndsWithTheJob) {
  const auto job = ReceivingJob();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchJobRequest request;
  request.set_job_id(job->job_id);
  const auto watch = jobs_->WatchJob(&context, request);
  v1::Job update;
  ASSERT_TRUE(watch->Read(&update));
  EXPECT_EQ(update.state(), v1::JOB_STATE_RECEIVING);
  EXPECT_EQ(update.progress().frames_received(), 0u);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(job->stream->Write(FrameMessage(i)));
  ASSERT_TRUE(job->stream->Write(FinishMessage()));
  uint32_t frames = 0;
  while (watch->Read(&update)) {
    EXPECT_GE(update.progress().frames_received(), frames);
    frames = update.progress().frames_received();
  }
  EXPECT_TRUE(watch->Finish().ok());
  EXPECT_EQ(update.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_TRUE(update.has_result());

  grpc::ClientContext again;
  SetDeadline(again);
  request.set_job_id("nobody");
  const auto unknown = jobs_->WatchJob(&again, request);
  EXPECT_FALSE(unknown->Read(&update));
  EXPECT_EQ(unknown->Finish().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, WatchSendsPreviewsToThoseWhoWantThem) {
  const auto job = ReceivingJob();
  const auto preview = std::make_shared<jobs::Preview>();
  preview->frames_backprojected = 7;
  preview->planes.push_back({.orientation = jobs::PlaneOrientation::kCoronal,
                             .columns = 2,
                             .rows = 1,
                             .column_spacing_mm = 0.5,
                             .row_spacing_mm = 1.5,
                             .hounsfield = {-1000, 258}});
  service_.table->Update(job->job_id, [&](jobs::Job& now) { now.preview = preview; });
  for (const bool wanted : {false, true}) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::WatchJobRequest request;
    request.set_job_id(job->job_id);
    request.set_previews(wanted);
    const auto watch = jobs_->WatchJob(&context, request);
    v1::Job update;
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_EQ(update.has_preview(), wanted);
    if (wanted) {
      EXPECT_EQ(update.preview().frames_backprojected(), 7u);
      ASSERT_EQ(update.preview().plane_size(), 1);
      const v1::PreviewPlane& plane = update.preview().plane(0);
      EXPECT_EQ(plane.orientation(), v1::PLANE_ORIENTATION_CORONAL);
      EXPECT_EQ(plane.columns(), 2u);
      EXPECT_EQ(plane.rows(), 1u);
      EXPECT_EQ(plane.column_spacing_mm(), 0.5);
      EXPECT_EQ(plane.row_spacing_mm(), 1.5);
      EXPECT_EQ(plane.hounsfield(), std::string("\x18\xfc\x02\x01"));
    }
    // What has been sent is not sent again with other news.
    service_.table->Update(job->job_id, [](jobs::Job& now) { ++now.progress.frames_lost; });
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_GT(update.progress().frames_lost(), 0u);
    EXPECT_FALSE(update.has_preview());
    context.TryCancel();
    while (watch->Read(&update)) {
    }
    watch->Finish();
  }
  EXPECT_FALSE(GetJob(job->job_id).has_preview());
  job->context.TryCancel();
}

TEST_F(JobsTest, CancelEndsJobAndStream) {
  const auto job = ReceivingJob();
  v1::CancelJobRequest request;
  request.set_job_id(job->job_id);
  request.set_reason(static_cast<v1::CancelReason>(99));
  v1::Job cancelled;
  EXPECT_THAT(Ask(&v1::JobService::Stub::CancelJob, request, &cancelled),
              Invalid({"reason is 99"}));
  request.set_reason(v1::CANCEL_REASON_PATIENT_REFUSED);
  ASSERT_TRUE(Ask(&v1::JobService::Stub::CancelJob, request, &cancelled).ok());
  EXPECT_EQ(cancelled.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ((*service_.table->Get(job->job_id))->order.cancel_reason,
            jobs::CancelReason::kPatientRefused);
  v1::AcquireResponse response;
  while (job->stream->Read(&response)) {
  }
  EXPECT_THAT(job->stream->Finish(),
              Refused(StatusCode::CANCELLED,
                      std::vector<const char*>({"cancelled on request: patient refused"})));
  EXPECT_EQ(Ask(&v1::JobService::Stub::CancelJob, request, &cancelled).error_code(),
            StatusCode::FAILED_PRECONDITION);
  request.set_job_id("nobody");
  EXPECT_EQ(Ask(&v1::JobService::Stub::CancelJob, request, &cancelled).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, DeleteRemovesEndedJobs) {
  const auto active = ReceivingJob();
  v1::DeleteJobRequest request;
  v1::DeleteJobResponse response;
  request.set_job_id(active->job_id);
  EXPECT_THAT(Ask(&v1::JobService::Stub::DeleteJob, request, &response),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"is receiving", "cancel it"})));
  active->context.TryCancel();
  request.set_job_id(CompletedJob());
  ASSERT_TRUE(Ask(&v1::JobService::Stub::DeleteJob, request, &response).ok());
  EXPECT_EQ(Ask(&v1::JobService::Stub::DeleteJob, request, &response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, DownloadsTheRawVolume) {
  const std::string id = CompletedJob();
  std::vector<v1::DownloadResultResponse> pieces;
  ASSERT_TRUE(Download(id, v1::RESULT_FORMAT_RAW_FLOAT32, &pieces).ok());
  ASSERT_GE(pieces.size(), 2u);
  EXPECT_EQ(pieces.front().grid().nx(), 32u);
  EXPECT_TRUE(pieces.back().end_of_file());
  std::string data;
  for (const auto& piece : pieces) data += piece.data();
  const std::vector<float> volume = service_.results.volume(id);
  ASSERT_EQ(data.size(), volume.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(data.data(), volume.data(), data.size()), 0);
}

TEST_F(JobsTest, TheRawVolumesGridIsInThePatientsAxes) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_patient_position("FFS");
  header.set_request_id("feet-first");
  const Answer answer = Acquire(WholeAcquisition(header));
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  std::vector<v1::DownloadResultResponse> pieces;
  ASSERT_TRUE(Download(answer.result()->job_id(), v1::RESULT_FORMAT_RAW_FLOAT32, &pieces).ok());
  const v1::VolumeGrid &stored = pieces.front().grid(), &world = answer.result()->grid();
  EXPECT_THAT(stored.direction(), ::testing::ElementsAre(-1, 0, 0, 0, 1, 0, 0, 0, -1));
  EXPECT_EQ(stored.origin_x_mm(), -world.origin_x_mm());
  EXPECT_EQ(stored.origin_y_mm(), world.origin_y_mm());
  EXPECT_EQ(stored.origin_z_mm(), -world.origin_z_mm());
}

TEST_F(JobsTest, DownloadsDicomFiles) {
  const std::string id = CompletedJob();
  std::vector<v1::DownloadResultResponse> pieces;
  ASSERT_TRUE(Download(id, v1::RESULT_FORMAT_DICOM, &pieces).ok());
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].file_count(), 2u);
  EXPECT_EQ(pieces[1].file_name(), absl::StrCat(id, "-0.dcm"));
  EXPECT_EQ(pieces[1].data(), "file 0");
  EXPECT_TRUE(pieces[1].end_of_file());
  EXPECT_EQ(pieces[2].data(), "file 1");
}

TEST_F(JobsTest, RefusesDownloadsThatCannotBe) {
  std::vector<v1::DownloadResultResponse> pieces;
  EXPECT_EQ(Download("nobody", v1::RESULT_FORMAT_DICOM, &pieces).error_code(),
            StatusCode::NOT_FOUND);
  const auto active = ReceivingJob();
  EXPECT_THAT(Download(active->job_id, v1::RESULT_FORMAT_DICOM, &pieces),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"is receiving", "completed"})));
  active->context.TryCancel();
  EXPECT_THAT(Download(CompletedJob(), v1::RESULT_FORMAT_UNSPECIFIED, &pieces),
              Invalid({"format is 0", "RESULT_FORMAT_DICOM"}));
  EXPECT_TRUE(pieces.empty());
}

}  // namespace
}  // namespace isocenter::testing
