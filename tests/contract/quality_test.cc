// QualityService through the wire.
#include "isocenter/v1/quality.grpc.pb.h"
#include "server/quality/store.h"
#include "tests/contract/contract_fixture.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class QualityContractTest : public ContractTest {
 protected:
  void SetUp() override {
    store_ = *quality_records::Store::Open({.directory = service_.directory.path() / "quality"});
    partners_.quality = store_.get();
    partners_.audit = &events_;
    StartServer();
    stub_ = v1::QualityService::NewStub(channel_);
  }
  void TearDown() override { server_.reset(); }

  static v1::RecordQualityRequest Request(double noise) {
    v1::RecordQualityRequest request;
    request.set_station_name("room-1");
    request.set_protocol("fdk");
    request.set_phantom("quality");
    v1::QualityMeasure& measure = *request.add_measure();
    measure.set_name("noise_hu");
    measure.set_value(noise);
    measure.set_tolerance(1);
    return request;
  }
  grpc::Status Record(const v1::RecordQualityRequest& request,
                      v1::QualityResult* result = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::QualityResult ignored;
    return stub_->RecordQuality(&context, request, result == nullptr ? &ignored : result);
  }

  KeptEvents events_;
  std::unique_ptr<quality_records::Store> store_;
  std::unique_ptr<v1::QualityService::Stub> stub_;
};

TEST_F(QualityContractTest, RecordsComparesAndLists) {
  v1::RecordQualityRequest first = Request(20);
  first.set_baseline(true);
  v1::QualityResult result;
  ASSERT_TRUE(Record(first, &result).ok());
  EXPECT_TRUE(result.baseline());
  ASSERT_TRUE(Record(Request(22), &result).ok());
  ASSERT_THAT(result.verdict(), SizeIs(1));
  EXPECT_FALSE(result.verdict(0).passed());
  const std::string worse = result.id();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::SetQualityBaselineRequest set;
  set.set_id(worse);
  ASSERT_TRUE(stub_->SetQualityBaseline(&context, set, &result).ok());
  EXPECT_TRUE(result.baseline());
  grpc::ClientContext listing;
  SetDeadline(listing);
  v1::ListQualityRequest list;
  list.set_max_results(1);
  v1::ListQualityResponse found;
  ASSERT_TRUE(stub_->ListQuality(&listing, list, &found).ok());
  ASSERT_THAT(found.result(), SizeIs(1));
  EXPECT_TRUE(found.truncated());
  EXPECT_EQ(found.result(0).id(), worse);
  EXPECT_THAT(events_.Of(audit::Action::kQuality), SizeIs(3));
}

TEST_F(QualityContractTest, JudgesByConditionsAndTellsWhatWasReplaced) {
  v1::RecordQualityRequest first = Request(20);
  first.set_baseline(true);
  first.set_replaces_id("");
  first.mutable_conditions()->set_tube_voltage_kv(90);
  first.mutable_conditions()->set_frames("pixels 1");
  v1::QualityResult accepted, today;
  ASSERT_TRUE(Record(first, &accepted).ok());
  v1::RecordQualityRequest second = Request(20.1);
  second.mutable_conditions()->set_tube_voltage_kv(120);
  ASSERT_TRUE(Record(second, &today).ok());
  EXPECT_THAT(today.verdict(0).not_comparable(), HasSubstr("120 kV, that of the baseline 90 kV"));
  second.mutable_conditions()->set_frames("pixels 1");
  EXPECT_EQ(Record(second).error_code(), StatusCode::FAILED_PRECONDITION);
  const grpc::Status again = Record(first);
  EXPECT_EQ(again.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(again.error_message(), HasSubstr(accepted.id()));
  first.set_replaces_id(accepted.id());
  ASSERT_TRUE(Record(first, &today).ok());
  EXPECT_EQ(today.replaced_id(), accepted.id());
  bool told = false;
  for (const audit::Event& event : events_.Of(audit::Action::kQuality)) {
    told = told || event.detail.find("in place of " + accepted.id()) != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(QualityContractTest, RefusesWhatIsIllegal) {
  const auto refused = [&](const std::function<void(v1::RecordQualityRequest&)>& change) {
    v1::RecordQualityRequest request = Request(20);
    change(request);
    const grpc::Status status = Record(request);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
    return status.error_message();
  };
  EXPECT_THAT(refused([](auto& r) { r.set_station_name("a/../b"); }), HasSubstr("station_name"));
  EXPECT_THAT(refused([](auto& r) { r.clear_station_name(); }), HasSubstr("station_name"));
  EXPECT_THAT(refused([](auto& r) { r.clear_protocol(); }), HasSubstr("protocol"));
  EXPECT_THAT(refused([](auto& r) { r.set_protocol("fdk_smoth"); }),
              HasSubstr("protocol is 'fdk_smoth'"));
  EXPECT_THAT(refused([](auto& r) { r.clear_measure(); }), HasSubstr("0 measures"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_measure(0)->set_value(std::nan("")); }),
              HasSubstr("noise_hu is nan"));
  EXPECT_THAT(refused([](auto& r) {
                for (int i = 0; i < 64; ++i) *r.add_measure() = r.measure(0);
              }),
              HasSubstr("65 measures"));
  v1::RecordQualityRequest request = Request(20);
  request.set_job_id("none");
  EXPECT_EQ(Record(request).error_code(), StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace isocenter::testing
