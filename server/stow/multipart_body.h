// DICOM files as one body of several parts, read while it is sent. Source: RFC 2387; DICOM PS3.18,
// 8.6.1.2 and 10.5.1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "server/web_client/web_client.h"

namespace isocenter::stow {

/// A stored DICOM file, as its archive knows it.
struct Object {
  std::string sop_instance_uid;
  std::filesystem::path file;
  uint64_t bytes = 0;  // of the file
};

/// `boundary` stands in none of the files. Holds at most one of them open, and none of it in
/// memory. The body's errors: NOT_FOUND (a file is gone, as its job was deleted), DATA_LOSS (it is
/// shorter than it was).
web::Body MultipartBody(std::vector<Object> objects, const std::string& boundary);

}  // namespace isocenter::stow
