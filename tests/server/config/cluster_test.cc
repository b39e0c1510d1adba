#include "server/config/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace isocenter::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::ClusterConfig Cluster(const std::string& name, const std::vector<std::string>& nodes) {
  v1::ClusterConfig cluster;
  cluster.set_node_name(name);
  for (const std::string& node : nodes) cluster.add_node(node);
  ApplyClusterDefaults(cluster);
  return cluster;
}

std::string Complaint(const std::string& name, const std::vector<std::string>& nodes) {
  return std::string(ValidateCluster(Cluster(name, nodes)).message());
}

TEST(Cluster, OneNodeByDefault) {
  const v1::ClusterConfig cluster = Cluster("", {});
  EXPECT_FALSE(cluster.node_name().empty());
  EXPECT_THAT(cluster.node(), ElementsAre(cluster.node_name()));
  EXPECT_TRUE(ValidateCluster(cluster).ok()) << ValidateCluster(cluster);
  EXPECT_THAT(Cluster("recon1", {}).node(), ElementsAre("recon1"));
}

TEST(Cluster, NamesAreChecked) {
  EXPECT_TRUE(ValidateCluster(Cluster("b", {"a", "b"})).ok());
  EXPECT_THAT(Complaint("c", {"a", "b"}), HasSubstr("'c'; legal is one of the names"));
  EXPECT_THAT(Complaint("a", {"a", "b", "a"}), HasSubstr("cluster.node[2] is 'a'"));
  EXPECT_THAT(Complaint("a b", {}), HasSubstr("cluster.node_name is 'a b'"));
  EXPECT_THAT(Complaint("a", {"a", ""}), HasSubstr("cluster.node[1] is ''"));
  EXPECT_THAT(Complaint(std::string(65, 'a'), {}), HasSubstr("1 to 64"));
}

TEST(Cluster, ASharedIndexNeedsItsFileAndWholePaths) {
  v1::ClusterConfig cluster = Cluster("a", {"a", "b"});
  EXPECT_FALSE(cluster.has_shared_index());
  v1::SharedIndexConfig& shared = *cluster.mutable_shared_index();
  ApplyClusterDefaults(cluster);
  EXPECT_EQ(shared.answer_seconds(), 2);
  EXPECT_THAT(std::string(ValidateCluster(cluster).message()),
              HasSubstr("cluster.shared_index.connection_file is ''"));
  shared.set_connection_file("/etc/isocenter/shared-index");
  EXPECT_TRUE(ValidateCluster(cluster).ok()) << ValidateCluster(cluster);
  shared.set_archives("/srv/{node}/archive");
  EXPECT_TRUE(ValidateCluster(cluster).ok()) << ValidateCluster(cluster);
  for (const char* illegal : {"srv/{node}", "/srv/archive", "/{node}/{node}"}) {
    shared.set_archives(illegal);
    EXPECT_THAT(std::string(ValidateCluster(cluster).message()),
                HasSubstr("cluster.shared_index.archives"))
        << illegal;
  }
  shared.clear_archives();
  shared.set_answer_seconds(61);
  EXPECT_THAT(std::string(ValidateCluster(cluster).message()),
              HasSubstr("cluster.shared_index.answer_seconds"));
}

}  // namespace
}  // namespace isocenter::config
