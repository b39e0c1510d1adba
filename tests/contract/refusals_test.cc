// What a refused acquisition says of later.

#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

using RefusalTest = ContractTest;

TEST_F(RefusalTest, ARefusalSaysWhenToComeAgain) {
  std::vector<std::unique_ptr<Call>> active;  // expected to end in a moment
  for (int i = 0; i < 8; ++i) active.push_back(Begin());
  Call refused;
  SetDeadline(refused.context);
  refused.stream = acquisitions_->Acquire(&refused.context);
  ASSERT_TRUE(refused.stream->Write(HeaderMessage(SmallHeader())));
  EXPECT_EQ(refused.End().status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(TrailerOf(refused.context, "isocenter-try-again"), "later");
  const std::optional<std::string> after = TrailerOf(refused.context, "isocenter-retry-after-ms");
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(std::stoll(*after), 0);

  v1::QuoteAcquisitionRequest request;
  *request.mutable_header() = SmallHeader();
  v1::AcquisitionQuote quote;
  grpc::ClientContext asked;
  SetDeadline(asked);
  EXPECT_EQ(acquisitions_->QuoteAcquisition(&asked, request, &quote).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(TrailerOf(asked, "isocenter-try-again"), "later");
}

TEST_F(RefusalTest, ARefusalOfWhatNeverFitsSaysNothingOfLater) {
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_grid()->set_nx(4096);
  header.mutable_grid()->set_ny(4096);
  header.mutable_grid()->set_nz(4096);
  header.mutable_grid()->set_spacing_x_mm(0.1);
  Call refused;
  SetDeadline(refused.context);
  refused.stream = acquisitions_->Acquire(&refused.context);
  ASSERT_TRUE(refused.stream->Write(HeaderMessage(header)));
  EXPECT_EQ(refused.End().status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(TrailerOf(refused.context, "isocenter-try-again"), std::nullopt);
}

}  // namespace
}  // namespace isocenter::testing
