// A store of results in an archive of its own, for tests of what it writes.
#pragma once

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

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

class ResultStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    archive_.reset();
    auto archive = archive::Archive::Open(directory_.path() / "archive");
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
    auto store = DicomResultStore::Create(*archive_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::vector<std::filesystem::path> StoreAndList(const jobs::Job& job,
                                                  const std::vector<float>& volume) {
    const auto stored = store_->Store(job, View(volume, job.grid), nullptr, nullptr);
    EXPECT_TRUE(stored.ok()) << stored.status();
    auto files = store_->DicomFiles(job.id);
    EXPECT_TRUE(files.ok()) << files.status();
    return files.ok() ? *files : std::vector<std::filesystem::path>();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::ResultStore> store_;
};

inline std::vector<double> Numbers(DcmDataset& dataset, const DcmTagKey& tag) {
  std::vector<double> numbers;
  Float64 number = 0;
  for (unsigned long i = 0; dataset.findAndGetFloat64(tag, number, i).good(); ++i) {
    numbers.push_back(number);
  }
  return numbers;
}

inline std::string String(DcmDataset& dataset, const DcmTagKey& tag) {
  OFString value;
  dataset.findAndGetOFStringArray(tag, value);
  return value.c_str();
}

/// What dciodvfy says of a file: errors and warnings.
inline std::string Validate(const std::filesystem::path& file) {
  FILE* const pipe = popen(("dciodvfy " + file.string() + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  pclose(pipe);
  return output;
}

}  // namespace isocenter::dicom
