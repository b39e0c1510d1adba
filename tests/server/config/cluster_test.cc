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

}  // namespace
}  // namespace isocenter::config
