#include "client/frame_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "client/frame_message.h"
#include "client/frame_store.h"

namespace isocenter::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

grpc::ByteBuffer Message(uint32_t index, size_t bytes = 100) {
  return FrameMessage(index, OwnPixels(std::vector<std::byte>(bytes, std::byte(index))),
                      std::nullopt);
}

std::string Text(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& s : slices)
    text.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return text;
}

/// What is to be written, to the last.
std::vector<std::string> Written(FrameWindow& window) {
  std::vector<std::string> all;
  while (const grpc::ByteBuffer* message = window.Next()) all.push_back(Text(*message));
  return all;
}

v1::Acknowledgement UpTo(uint32_t last) {
  v1::Acknowledgement acknowledgement;
  acknowledgement.set_frame_index(last);
  return acknowledgement;
}

TEST(FrameStore, MemoryFirstThenAFileWithoutAName) {
  const std::filesystem::path folder = testing::TempDir() + "/frame_store";
  std::filesystem::create_directory(folder);
  FrameStore store(static_cast<int64_t>(Message(0).Length()) + 1, folder);
  for (const uint32_t i : {0u, 7u, 3u}) store.Put(i, Message(i, 100 + i));
  ASSERT_TRUE(store.complete().ok()) << store.complete();
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "a frame is left when the process ends";
  for (const uint32_t i : {0u, 7u, 3u}) {
    const auto read = store.Get(i);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Text(*read), Text(Message(i, 100 + i)));
  }
  EXPECT_EQ(store.Get(1).status().code(), absl::StatusCode::kNotFound);
}

TEST(FrameStore, SaysWhatItCouldNotKeep) {
  FrameStore bounded(10, "");
  bounded.Put(0, Message(0));
  EXPECT_THAT(std::string(bounded.complete().message()), HasSubstr("more than 10 bytes"));
  FrameStore nowhere(10, "/does/not/exist");
  nowhere.Put(0, Message(0));
  EXPECT_THAT(std::string(nowhere.complete().message()), HasSubstr("/does/not/exist"));
  EXPECT_FALSE(nowhere.Get(0).ok());
}

TEST(FrameWindow, AnotherServerGetsAllInOrderAndTheConsoleIsToldOnce) {
  FrameStore store(150, testing::TempDir());  // one frame of four; the others in the file
  FrameWindow window(6, 10, 10000);
  window.KeepAcknowledged(&store);
  for (const uint32_t i : {0u, 2u, 1u, 3u}) window.Add(i, Message(i));
  EXPECT_EQ(Written(window).size(), 4u);
  EXPECT_THAT(window.Acknowledge(UpTo(2)), ElementsAre(0, 1, 2));
  ASSERT_TRUE(window.CanBeSentAgain().ok());
  EXPECT_THAT(window.Restart(0), IsEmpty());
  EXPECT_EQ(window.acknowledged(), 0);
  EXPECT_THAT(Written(window),
              ElementsAre(Text(Message(0)), Text(Message(1)), Text(Message(2)), Text(Message(3))));
  EXPECT_THAT(window.Acknowledge(UpTo(3)), ElementsAre(3)) << "the others had been told";
  EXPECT_EQ(window.acknowledged(), 4);
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.HasRoomFor(100000));
  // Once more, to a server that has the first two already.
  EXPECT_THAT(window.Restart(2), IsEmpty());
  EXPECT_THAT(Written(window), ElementsAre(Text(Message(2)), Text(Message(3))));
  EXPECT_EQ(window.acknowledged(), 2);
}

TEST(FrameWindow, WhatABreakWithinAMoveLeavesIsSentAgain) {
  FrameStore store(10000, "");
  FrameWindow window(4, 10, 10000);
  window.KeepAcknowledged(&store);
  for (const uint32_t i : {0u, 1u, 2u, 3u}) window.Add(i, Message(i));
  (void)Written(window);
  (void)window.Acknowledge(UpTo(3));
  (void)window.Restart(0);
  ASSERT_NE(window.Next(), nullptr);
  (void)window.Acknowledge(UpTo(0));
  EXPECT_THAT(window.Rewind(1), IsEmpty());
  EXPECT_EQ(Written(window).size(), 3u);
}

TEST(FrameWindow, OneFrameThatTheServerHasIsSentToProveTheScan) {
  FrameWindow window(4, 4, 1 << 20);
  window.Rewind(2);
  EXPECT_FALSE(window.LacksProof(2));
  ASSERT_TRUE(window.LacksProof(1));
  window.AddProof(Message(1));
  EXPECT_FALSE(window.LacksProof(0)) << "one suffices";
  window.Add(2, Message(2));
  EXPECT_THAT(Written(window), ElementsAre(Text(Message(1)), Text(Message(2))));
  EXPECT_EQ(window.acknowledged(), 2);
  window.Rewind(2);  // the connection broke: the proof is not owed again
  EXPECT_THAT(Written(window), ElementsAre(Text(Message(2))));
}

TEST(FrameWindow, WhatItDoesNotHaveCannotBeSentToAnother) {
  FrameStore store(10000, "");
  FrameWindow window(4, 10, 10000);
  EXPECT_FALSE(window.CanBeSentAgain().ok());
  window.KeepAcknowledged(&store);
  EXPECT_TRUE(window.CanBeSentAgain().ok());
  (void)window.Rewind(2);  // as of a resumed job
  EXPECT_THAT(std::string(window.CanBeSentAgain().message()), HasSubstr("another stream"));
}

}  // namespace
}  // namespace isocenter::client
