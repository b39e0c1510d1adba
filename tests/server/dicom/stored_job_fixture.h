// An archive with stored volumes, and readers of what was stored.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "server/dicom/objects/result_store.h"
#include "tests/server/dicom/test_jobs.h"

namespace isocenter::dicom {

class StoredJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto archive = archive::Archive::Open(directory_.path() / "archive");
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
    auto store = DicomResultStore::Create(*archive_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  jobs::StoredSeries Store(const jobs::Job& job) {
    const auto stored = store_->Store(job, View(TestVolume(job.grid), job.grid), nullptr, nullptr);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.value_or(jobs::StoredSeries());
  }
  std::vector<std::filesystem::path> Files(const jobs::Job& job) {
    const auto files = store_->DicomFiles(job.id);
    EXPECT_TRUE(files.ok()) << files.status();
    return files.value_or(std::vector<std::filesystem::path>());
  }
  /// The multi-frame object of a job of one part.
  std::filesystem::path VolumeFile(const jobs::Job& job) { return Files(job).back(); }

  TemporaryDirectory directory_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::ResultStore> store_;
};

/// A job that is stored in both forms.
inline jobs::Job TestJobInBothForms(const std::string& id, int nx = 12, int ny = 10, int nz = 5) {
  jobs::Job job = TestJob(id, nx, ny, nz);
  job.dicom_forms = {.ct_series = true, .xray_3d = true};
  return job;
}

/// What dciodvfy says of a file: the kind of object, errors and warnings.
inline std::string Validate(const std::filesystem::path& file) {
  FILE* const pipe = popen(("dciodvfy " + file.string() + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  pclose(pipe);
  return output;
}

}  // namespace isocenter::dicom
