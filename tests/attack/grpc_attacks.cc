#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/grpcpp.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "tests/attack/attacks.h"
#include "tests/contract/messages.h"
#include "tests/fault/small_scan.h"

namespace isocenter::testing {
namespace {

constexpr Role kCallers[] = {Role::kNone, Role::kViewer, Role::kOtherConsole};

Role AnyCaller(Chance& chance) { return kCallers[chance.Integer(0, 2)]; }

// What is no UTF-8 this client would not send.
std::string RandomText(Chance& chance, int64_t longest) {
  std::string text = RandomBytes(chance, longest);
  for (char& byte : text) byte &= 0x7f;
  return text;
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
}

template <class Service>
auto NewStub(const Target& target, Role role, std::unique_ptr<client::ServiceChannel>& channel) {
  channel = std::make_unique<client::ServiceChannel>(target.Channel(role));
  return Service::NewStub(channel->grpc_channel());
}

void Acquire(const Target& target, Role role, const std::vector<v1::AcquireRequest>& messages) {
  std::unique_ptr<client::ServiceChannel> channel;
  const auto stub = NewStub<v1::AcquisitionService>(target, role, channel);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub->Acquire(&context);
  for (const v1::AcquireRequest& message : messages) {
    if (!stream->Write(message)) break;
  }
  stream->WritesDone();
  v1::AcquireResponse response;
  while (stream->Read(&response)) {
  }
  stream->Finish().ok();
}

void HostileHeaders(const Target& target, Chance& chance) {
  for (int i = 0; i < 20; ++i) {
    v1::AcquisitionHeader header = SmallHeader();
    switch (chance.Integer(0, 6)) {
      case 0:
        header.set_frame_count(static_cast<uint32_t>(chance.Integer(0, 4294967295)));
        break;
      case 1:
        header.mutable_grid()->set_nx(4096);
        header.mutable_grid()->set_ny(4096);
        header.mutable_grid()->set_nz(4096);
        break;
      case 2:
        header.mutable_patient_study()->set_patient_name(RandomText(chance, 1 << 20));
        break;
      case 3:
        header.set_request_id(std::string(chance.Integer(1, 1 << 20), '/'));
        break;
      case 4:
        for (int matrix = 0; matrix < 500000; ++matrix) header.mutable_matrices()->add_matrix();
        break;
      case 5:
        header.mutable_detector()->set_columns(static_cast<uint32_t>(chance.Integer(0, 100000)));
        break;
      default:
        header.mutable_circular()->set_offset_u_px(
            static_cast<double>(chance.Integer(-2000, 2000)));
    }
    Acquire(target, AnyCaller(chance), {HeaderMessage(header), HeaderMessage(header)});
  }
}

/// What a viewer sees; nothing where he is refused.
v1::ListJobsResponse ListedJobs(const Target& target) {
  std::unique_ptr<client::ServiceChannel> channel;
  const auto jobs = NewStub<v1::JobService>(target, Role::kViewer, channel);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListJobsResponse listed;
  jobs->ListJobs(&context, v1::ListJobsRequest(), &listed).ok();
  return listed;
}

// Another console's attempts to go on with the scans of the rooms.
void StolenScans(const Target& target, Chance& chance) {
  const v1::ListJobsResponse listed = ListedJobs(target);
  for (const v1::Job& job : listed.job()) {
    const Role thief = AnyCaller(chance);
    Acquire(target, thief, {ResumeMessage(job.job_id()), FrameMessage(3)});
    Acquire(target, thief, {ResumeMessage(job.job_id(), ScanHeader("")), FrameMessage(3)});
  }
}

void InParallel(int threads, const std::function<void()>& work) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& thread : all) thread.join();
}

void HeavyQuotes(const Target& target, Chance& chance) {
  v1::QuoteAcquisitionRequest request;
  *request.mutable_header() = SmallHeader();
  request.mutable_header()->set_frame_count(10000);
  request.mutable_header()->mutable_circular()->set_arc_deg(360. * 9999 / 10000);
  request.mutable_header()->mutable_detector()->set_columns(8192);
  request.mutable_header()->mutable_detector()->set_pitch_u_mm(0.05);
  const Role role = AnyCaller(chance);
  InParallel(24, [&] {
    std::unique_ptr<client::ServiceChannel> channel;
    const auto stub = NewStub<v1::AcquisitionService>(target, role, channel);
    grpc::ClientContext context;
    SetDeadline(context);
    v1::AcquisitionQuote response;
    stub->QuoteAcquisition(&context, request, &response).ok();
  });
}

void UnreadDownloads(const Target& target, Chance& chance) {
  const v1::ListJobsResponse listed = ListedJobs(target);
  if (listed.job().empty()) return;
  std::unique_ptr<client::ServiceChannel> channel;
  const auto stub = NewStub<v1::JobService>(target, Role::kOtherConsole, channel);
  struct Download {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::DownloadResultResponse>> reader;
  };
  std::vector<std::unique_ptr<Download>> held;
  v1::DownloadResultRequest request;
  request.set_job_id(
      listed.job(static_cast<int>(chance.Integer(0, listed.job_size() - 1))).job_id());
  for (int i = 0; i < 300; ++i) {
    held.push_back(std::make_unique<Download>());
    held.back()->reader = stub->DownloadResult(&held.back()->context, request);
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
  for (const auto& download : held) {
    download->context.TryCancel();
    v1::DownloadResultResponse chunk;
    while (download->reader->Read(&chunk)) {
    }
    download->reader->Finish().ok();
  }
}

// Requests of jobs and their removal, with names that are none.
void OddRequests(const Target& target, Chance& chance) {
  std::unique_ptr<client::ServiceChannel> channel;
  const auto stub = NewStub<v1::JobService>(target, AnyCaller(chance), channel);
  for (int i = 0; i < 100; ++i) {
    const std::string id =
        chance.OneIn(2) ? RandomText(chance, 40000) : std::string(chance.Integer(0, 1 << 20), '/');
    grpc::ClientContext list_context, delete_context, cancel_context;
    SetDeadline(list_context), SetDeadline(delete_context), SetDeadline(cancel_context);
    v1::ListJobsRequest list;
    list.set_page_token(id);
    for (int64_t states = chance.Integer(0, 30000); states > 0; --states) {
      list.add_state(v1::JOB_STATE_COMPLETED);
    }
    v1::ListJobsResponse jobs;
    stub->ListJobs(&list_context, list, &jobs).ok();
    v1::DeleteJobRequest remove;
    remove.set_job_id(id);
    v1::DeleteJobResponse removed;
    stub->DeleteJob(&delete_context, remove, &removed).ok();
    v1::CancelJobRequest cancel;
    cancel.set_job_id(id);
    v1::Job cancelled;
    stub->CancelJob(&cancel_context, cancel, &cancelled).ok();
  }
}

void ScansThatAreLeft(const Target& target, Chance&) {
  InParallel(10, [&] {
    std::unique_ptr<client::ServiceChannel> channel;
    const auto stub = NewStub<v1::AcquisitionService>(target, Role::kOtherConsole, channel);
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = stub->Acquire(&context);
    stream->Write(HeaderMessage(SmallHeader()));
    stream->Write(FrameMessage(0));
    context.TryCancel();
    stream->Finish().ok();
  });
}

}  // namespace

std::vector<Attack> GrpcAttacks() {
  return {{"hostile headers", HostileHeaders}, {"stolen scans", StolenScans},
          {"heavy quotes", HeavyQuotes},       {"unread downloads", UnreadDownloads},
          {"odd requests", OddRequests},       {"scans that are left", ScansThatAreLeft}};
}

}  // namespace isocenter::testing
