#include "server/cluster_index/other_archives.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::cluster_index {
namespace {

TEST(OtherArchives, NamesOfArchivesAreLegalAndNothingElseIs) {
  const OtherArchives archives("a", "/own/results", "/srv/{node}/archive", {"b", "a"});
  EXPECT_EQ(*archives.FileOf("a", "job.1", "dicom/1.dcm"), "/own/results/job.1/dicom/1.dcm");
  EXPECT_EQ(*archives.FileOf("b", "job.1", "dicom/1.dcm"),
            "/srv/b/archive/results/job.1/dicom/1.dcm");
  EXPECT_EQ(archives.FileOf("c", "job.1", "1.dcm").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(archives.FileOf("..", "job.1", "1.dcm").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(archives.nodes(), ::testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace isocenter::cluster_index
