// Who may search and retrieve, and what is recorded of who may not.
#include "tests/server/dicomweb/dicomweb_fixture.h"

namespace isocenter::dicomweb {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RolesTest : public DicomWebTest {
 protected:
  void SetUp() override {
    DicomWebTest::SetUp();
    Store(dicom::TestJobInBothForms("stored"));
    const std::string instance = InstancePaths().front();
    targets_ = {"/studies",
                "/series",
                "/instances",
                StudyOf(instance),
                StudyOf(instance) + "/metadata",
                SeriesOf(instance) + "/instances",
                instance,
                instance + "/metadata",
                instance + "/frames/1",
                instance + "/bulkdata/7FE00010",
                instance + "/rendered"};
  }
  std::vector<std::string> targets_;
};

TEST_F(RolesTest, NobodyGetsAnythingWithoutAToken) {
  const size_t before = audit_.Of(audit::Action::kSignIn).size();
  for (const std::string& target : targets_) {
    EXPECT_EQ(Get(target, "", "").status, 401) << target;
  }
  const auto events = audit_.Of(audit::Action::kSignIn);
  ASSERT_THAT(events, SizeIs(before + targets_.size()));
  EXPECT_EQ(events.back().outcome, audit::Outcome::kRefused);
  EXPECT_THAT(events.back().job_ids, IsEmpty());
  EXPECT_EQ(Get("/studies", "", "another-token").status, 401);
}

TEST_F(RolesTest, AViewerReads) {
  for (const std::string& target : targets_) EXPECT_EQ(Get(target).status, 200) << target;
}

TEST_F(RolesTest, TheLeastRoleIsAsked) {
  Serve(http::Role::kConsole);
  for (const std::string& target : targets_) {
    const Answer refused = Get(target);
    EXPECT_EQ(refused.status, 403) << target;
    EXPECT_THAT(refused.body, HasSubstr("the role is viewer; this needs console"));
    EXPECT_EQ(Get(target, "", kConsole).status, 200) << target;
  }
  const auto events = audit_.Of(audit::Action::kCall);
  ASSERT_THAT(events, SizeIs(targets_.size()));
  EXPECT_EQ(events.back().actor.name, "the viewer");
}

TEST_F(RolesTest, ManyWrongTokensHaveToWait) {
  for (int i = 0; i < 10; ++i) Get("/studies", "", "wrong");
  EXPECT_EQ(Get("/studies", "", "wrong").status, 429);
  EXPECT_EQ(Get("/studies", "", kViewer).status, 200) << "the right one does not wait for others";
}

}  // namespace
}  // namespace isocenter::dicomweb
