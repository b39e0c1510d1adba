// A node over an archive with three studies, and the tools of DCMTK against it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "server/dicom/scp/node.h"
#include "server/jobs/ports.h"
#include "tests/server/dicom/test_jobs.h"

namespace isocenter::dicom {

struct ToolOutput {
  int exit_code = -1;
  std::string text;  // standard output and error
};
/// Runs a shell command to its end.
ToolOutput RunTool(const std::string& command);

/// How often `part` occurs in `text`.
int Count(const std::string& text, const std::string& part);

/// Counts of what a node has reported. Thread-safe.
class EventCounter {
 public:
  NodeObserver observer();
  int count(NodeOperation operation, NodeOutcome outcome) const;

 private:
  mutable absl::Mutex mutex_;
  std::map<std::pair<NodeOperation, NodeOutcome>, int> counts_ ABSL_GUARDED_BY(mutex_);
};

/// Jobs "yamada-1" (study 1.2.3.1 of 2026-01-02, 6 slices), "yamada-2" (1.2.3.2, 2026-02-15, 4
/// slices) of one patient, and "doe" (1.2.3.3, 2025-12-31, 3 slices).
class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void OpenArchive();
  void StartNode(NodeOptions options = {});
  /// A tool with the node's address, e.g. Scu("findscu -S", "-k StudyDate").
  ToolOutput Scu(const std::string& tool, const std::string& arguments = "");
  /// Whether a C-ECHO succeeds.
  bool Echoes();

  TemporaryDirectory directory_;
  EventCounter events_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::ResultStore> store_;
  std::unique_ptr<Node> node_;
};

}  // namespace isocenter::dicom
