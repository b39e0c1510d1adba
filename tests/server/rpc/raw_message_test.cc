#include "server/rpc/raw_message.h"

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"

namespace isocenter::rpc {
namespace {

/// The bytes in slices of at most `piece` bytes each.
RawMessage Sliced(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) slices.emplace_back(bytes.substr(at, piece));
  return RawMessage(grpc::ByteBuffer(slices.data(), slices.size()));
}

std::string PixelsOf(const RawMessage::Frame& frame) {
  std::string pixels;
  for (const auto& piece : frame.pixels) {
    pixels.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return pixels;
}

v1::AcquireRequest WholeFrame(int bytes = 5000) {
  v1::AcquireRequest message;
  v1::Frame& frame = *message.mutable_frame();
  frame.set_index(300);
  for (int i = 0; i < bytes; ++i) frame.mutable_pixels()->push_back(static_cast<char>(i * 7));
  frame.set_crc32c(0x12345678);
  frame.set_has_checksum(true);
  for (int i = 0; i < 12; ++i) frame.mutable_measured_matrix()->add_value(i);
  frame.set_dose(1.25F);
  frame.set_phase(0.75F);
  return message;
}

/// What both parsers make of the same bytes.
void ExpectSameAsProtobuf(const std::string& bytes, size_t piece) {
  const RawMessage raw = Sliced(bytes, piece);
  ASSERT_EQ(raw.bytes(), static_cast<int64_t>(bytes.size()));
  v1::AcquireRequest expected;
  const bool legal = expected.ParseFromString(bytes);
  const auto frame = raw.AsFrame();
  ASSERT_EQ(frame.ok(), legal) << frame.status();
  ASSERT_EQ(raw.Parse().ok(), legal);
  if (!legal) {
    EXPECT_EQ(frame.status().code(), absl::StatusCode::kInvalidArgument);
    return;
  }
  ASSERT_EQ(frame->has_value(), expected.has_frame());
  if (!expected.has_frame()) return;
  const v1::Frame& fields = (*frame)->fields;
  EXPECT_EQ(PixelsOf(**frame), expected.frame().pixels());
  EXPECT_EQ(fields.index(), expected.frame().index());
  EXPECT_EQ(fields.crc32c(), expected.frame().crc32c());
  EXPECT_EQ(fields.has_checksum(), expected.frame().has_checksum());
  EXPECT_EQ(std::bit_cast<uint32_t>(fields.dose()),
            std::bit_cast<uint32_t>(expected.frame().dose()));
  EXPECT_EQ(fields.has_phase(), expected.frame().has_phase());
  EXPECT_EQ(std::bit_cast<uint32_t>(fields.phase()),
            std::bit_cast<uint32_t>(expected.frame().phase()));
  EXPECT_EQ(fields.has_measured_matrix(), expected.frame().has_measured_matrix());
  EXPECT_EQ(fields.measured_matrix().SerializeAsString(),
            expected.frame().measured_matrix().SerializeAsString());
  EXPECT_TRUE(fields.pixels().empty());
}

TEST(RawMessage, AFrameInManySlicesIsReadWhereItLies) {
  const std::string bytes = WholeFrame().SerializeAsString();
  for (const size_t piece :
       {size_t{1}, size_t{2}, size_t{3}, size_t{97}, size_t{4096}, size_t{9999}}) {
    SCOPED_TRACE(piece);
    ExpectSameAsProtobuf(bytes, piece);
  }
  auto frame = Sliced(bytes, 1000).AsFrame();
  EXPECT_GT((*frame)->pixels.size(), 4u);
}

TEST(RawMessage, ThePixelsOutliveTheMessage) {
  std::optional<RawMessage::Frame> frame;
  {
    const RawMessage raw = Sliced(WholeFrame().SerializeAsString(), 100);
    frame = *raw.AsFrame();
  }
  EXPECT_EQ(PixelsOf(*frame), WholeFrame().frame().pixels());
}

TEST(RawMessage, FieldsOfLaterVersionsAreSkipped) {
  const std::string unknown("\xf8\x7f\x01", 3);            // field 2047, varint
  const std::string group("\xfb\x7f\x08\x01\xfc\x7f", 6);  // field 2047, a group
  std::string inside = WholeFrame().frame().SerializeAsString();
  for (const std::string& field : {unknown, group}) {
    const std::string frame = field + inside + field;
    std::string bytes = "\x12";
    bytes.push_back(static_cast<char>(0x80 | (frame.size() & 0x7f)));
    bytes.push_back(static_cast<char>(frame.size() >> 7));
    bytes += frame;
    ExpectSameAsProtobuf(bytes, 100);
    // Beside the frame, before and behind.
    ExpectSameAsProtobuf(bytes + field, 100);
    ExpectSameAsProtobuf(field + bytes, 100);
    EXPECT_EQ(PixelsOf(**Sliced(bytes + field, 100).AsFrame()), WholeFrame().frame().pixels());
  }
}

TEST(RawMessage, OtherMessagesAreNoFrames) {
  v1::AcquireRequest header, finish, resume;
  header.mutable_header()->set_frame_count(7);
  finish.mutable_finish();
  resume.mutable_resume()->set_job_id("job");
  for (const auto& message : {header, finish, resume, v1::AcquireRequest()}) {
    ExpectSameAsProtobuf(message.SerializeAsString(), 2);
  }
  // The last of a oneof counts; of two frames both.
  const std::string frame = WholeFrame(10).SerializeAsString();
  ExpectSameAsProtobuf(frame + finish.SerializeAsString(), 7);
  ExpectSameAsProtobuf(finish.SerializeAsString() + frame, 7);
  ExpectSameAsProtobuf(frame + frame, 7);
}

TEST(RawMessage, LengthsThatAreNoneAreRefused) {
  // A frame whose pixels say 2^32 + 1, 2^31 and -1 bytes.
  for (const std::string& length :
       {std::string("\x81\x80\x80\x80\x10"), std::string("\x80\x80\x80\x80\x08"),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    const std::string frame = absl::StrCat("\x12", length, "x");
    const std::string size(1, static_cast<char>(frame.size()));
    ExpectSameAsProtobuf(absl::StrCat("\x12", size, frame), 3);
    ExpectSameAsProtobuf(absl::StrCat("\x12", length, frame), 3);
  }
  // A truth value of 2^32.
  ExpectSameAsProtobuf(std::string("\x12\x06\x20\x80\x80\x80\x80\x10"), 2);
}

// Small frames, so that what matters is hit: tags, lengths, ends.
TEST(RawMessage, AgreesWithProtobufOnWhatIsDamaged) {
  const google::protobuf::LogSilencer silence;  // on what is not UTF-8
  std::mt19937 random(7);
  const auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 100'000; ++round) {
    v1::AcquireRequest message = WholeFrame(static_cast<int>(below(20)));
    if (below(2) == 0) message.mutable_frame()->clear_measured_matrix();
    std::string bytes = message.SerializeAsString();
    for (size_t change = below(4); change < 4 && !bytes.empty(); ++change) {
      const size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(4));
          break;
        case 3:
          bytes.insert(at, 1, static_cast<char>(below(256)));
          break;
        default:
          bytes += bytes.substr(at);
      }
    }
    ExpectSameAsProtobuf(bytes, 1 + below(40));
    if (HasFailure()) {
      ADD_FAILURE() << "round " << round;
      return;
    }
  }
}

TEST(RawMessage, SaysThatAConsoleCompresses) {
  const auto refusal = [](const std::string& begin) {
    return std::string(Sliced(begin + std::string(200, '\xff'), 50).Parse().status().message());
  };
  const std::string compressed = ": it is compressed (gzip or deflate)";
  EXPECT_EQ(refusal("\x1f\x8b"),
            "the message of 202 bytes is not an AcquireRequest; legal is valid, uncompressed "
            "protobuf, whose texts are UTF-8" +
                compressed);
  for (const char* deflate : {"\x78\x9c", "\x78\x01", "\x78\xda", "\x78\x5e"}) {
    EXPECT_TRUE(refusal(deflate).ends_with(compressed)) << deflate;
  }
  EXPECT_TRUE(refusal("\x78\x9d").ends_with("UTF-8"));
}

}  // namespace
}  // namespace isocenter::rpc
