// A bundle for tests of commands that send one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <vector>

#include "client/formats/bundle.h"
#include "isocenter/v1/acquisition.pb.h"
#include "proto/wire/geometry.h"

namespace isocenter::client_test {

/// Of frames of 4x2 raw counts, whose bytes are their number.
inline void WriteBundle(const std::filesystem::path& path, int frames) {
  v1::AcquisitionHeader header;
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(60000);
  *header.mutable_detector() =
      wire::ToProto(Detector{.columns = 4, .rows = 2, .pitch_u_mm = 1, .pitch_v_mm = 1});
  header.set_frame_count(frames);
  header.mutable_patient_study()->set_patient_id("P1");
  header.mutable_patient_study()->set_accession_number("A1");
  auto sink = formats::CreateBundle(path, header, {});
  ASSERT_TRUE(sink.ok()) << sink.status();
  for (int i = 0; i < frames; ++i) {
    ASSERT_TRUE((*sink)->Append(std::vector<std::byte>(16, std::byte(i))).ok());
  }
  ASSERT_TRUE((*sink)->Finish().ok());
}

}  // namespace isocenter::client_test
