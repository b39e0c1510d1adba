// The archive that fuzzed requests are asked of: two studies of three instances without files.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/archive/archive.h"
#include "tests/fuzz/input.h"

namespace isocenter::fuzz {

/// Made once.
inline archive::Archive& TestArchive() {
  struct Made {
    Made() {
      auto opened = archive::Archive::Open(Directory() / "archive");
      if (!opened.ok()) Fail(opened.status());
      archive = *std::move(opened);
      for (int study = 1; study <= 2; ++study) {
        archive::Result result;
        result.patient = {absl::StrCat("P", study), "Yamada^Tarou=山田^太郎", "19700203", "F"};
        result.study = {.instance_uid = absl::StrCat("1.2.3.", study), .date = "20260102"};
        result.series = {.instance_uid = absl::StrCat("1.2.3.", study, ".1"),
                         .modality = "CT",
                         .number = 1,
                         .requested_procedure_id = "RP"};
        for (int i = 1; i <= 3; ++i) {
          result.instances.push_back({.sop_instance_uid = absl::StrCat("1.2.3.", study, ".1.", i),
                                      .sop_class_uid = "1.2.840.10008.5.1.4.1.1.2",
                                      .number = i,
                                      .file_name = absl::StrCat(i, ".dcm")});
        }
        auto staging = archive->Stage(absl::StrCat("job", study), 0);
        if (!staging.ok()) Fail(staging.status());
        const absl::Status stored = archive->Commit(*std::move(staging), result);
        if (!stored.ok()) Fail(stored);
      }
    }
    [[noreturn]] static void Fail(const absl::Status& status) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::exit(1);
    }
    std::unique_ptr<archive::Archive> archive;
  };
  static Made made;
  return *made.archive;
}

}  // namespace isocenter::fuzz
