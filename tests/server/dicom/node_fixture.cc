#include "tests/server/dicom/node_fixture.h"

#include <sys/wait.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "server/dicom/objects/result_store.h"

namespace isocenter::dicom {

ToolOutput RunTool(const std::string& command) {
  ToolOutput output;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.text.append(buffer, n);
  const int status = pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

NodeObserver EventCounter::observer() {
  return [this](NodeOperation operation, NodeOutcome outcome) {
    absl::MutexLock lock(&mutex_);
    ++counts_[{operation, outcome}];
  };
}

int EventCounter::count(NodeOperation operation, NodeOutcome outcome) const {
  absl::MutexLock lock(&mutex_);
  const auto it = counts_.find({operation, outcome});
  return it == counts_.end() ? 0 : it->second;
}

void NodeTest::OpenArchive() {
  node_.reset();
  store_.reset();
  archive_.reset();
  auto archive = archive::Archive::Open(directory_.path() / "archive");
  ASSERT_TRUE(archive.ok()) << archive.status();
  archive_ = *std::move(archive);
  auto store = DicomResultStore::Create(*archive_);
  ASSERT_TRUE(store.ok()) << store.status();
  store_ = *std::move(store);
}

void NodeTest::SetUp() {
  OpenArchive();
  jobs::Job first = TestJob("yamada-1", 12, 10, 6);
  first.patient_study.patient_id = "YAMADA";
  first.patient_study.study_instance_uid = "1.2.3.1";
  jobs::Job second = TestJob("yamada-2", 12, 10, 4);
  second.patient_study.patient_id = "YAMADA";
  second.patient_study.study_instance_uid = "1.2.3.2";
  second.patient_study.study_date = "20260215";
  jobs::Job third = TestJob("doe", 12, 10, 3);
  third.patient_study.patient_name = "Doe^Jane";
  third.patient_study.patient_id = "DOE";
  third.patient_study.study_instance_uid = "1.2.3.3";
  third.patient_study.study_date = "20251231";
  for (const jobs::Job& job : {first, second, third}) {
    const auto volume = TestVolume(job.grid);
    const auto stored = store_->Store(job, View(volume, job.grid), nullptr, nullptr);
    ASSERT_TRUE(stored.ok()) << stored.status();
  }
}

void NodeTest::StartNode(NodeOptions options) {
  options.port = 0;
  auto node = Node::Start(options, *archive_, events_.observer());
  ASSERT_TRUE(node.ok()) << node.status();
  node_ = *std::move(node);
}

ToolOutput NodeTest::Scu(const std::string& tool, const std::string& arguments) {
  return RunTool(absl::StrCat(tool, " ", arguments, " 127.0.0.1 ", node_->port()));
}

bool NodeTest::Echoes() { return Scu("echoscu").exit_code == 0; }

}  // namespace isocenter::dicom
