// Every state of a job's life, and everything that may happen in it.
#include "server/pipeline/lifecycle.h"

#include <gtest/gtest.h>

#include <array>

// A new state or event must be named below, and then stand in the table.
#pragma GCC diagnostic error "-Wswitch"

namespace isocenter::pipeline {
namespace {

using enum LifeState;

const char* Name(LifeState state) {
  switch (state) {
    case kWaiting:
      return "waiting";
    case kComputing:
      return "computing";
    case kCompleting:
      return "completing";
    case kComplete:
      return "complete";
    case kStoringAhead:
      return "storing ahead";
    case kStoring:
      return "storing";
    case kCancellingAhead:
      return "cancelling ahead";
    case kCancelling:
      return "cancelling";
    case kSuspendingAhead:
      return "suspending ahead";
    case kSuspending:
      return "suspending";
    case kAbandoned:
      return "abandoned";
    case kEnded:
      return "ended";
  }
  return nullptr;
}

const char* Name(LifeEvent event) {
  switch (event) {
    case LifeEvent::kRunGiven:
      return "run given";
    case LifeEvent::kRunTaken:
      return "run taken";
    case LifeEvent::kHandedOver:
      return "handed over";
    case LifeEvent::kVolumeComplete:
      return "volume complete";
    case LifeEvent::kExporterTurn:
      return "exporter's turn";
    case LifeEvent::kStored:
      return "stored";
    case LifeEvent::kStoreFailed:
      return "store failed";
    case LifeEvent::kNoRoom:
      return "no room";
    case LifeEvent::kStoreLost:
      return "store lost";
    case LifeEvent::kCancel:
      return "cancel";
    case LifeEvent::kFail:
      return "fail";
    case LifeEvent::kSuspend:
      return "suspend";
  }
  return nullptr;
}

constexpr int kStates = 12;
constexpr int kEvents = 12;
static_assert(kStates == static_cast<int>(kEnded) + 1);
static_assert(kEvents == static_cast<int>(LifeEvent::kSuspend) + 1);

struct Row {
  LifeState state;
  std::array<LifeStep, kEvents> steps;
};

/// What a state does not heed.
constexpr LifeStep Stays(LifeState state) { return {state, Duty::kNone}; }

// In the order of LifeEvent: run given, run taken, handed over, volume complete, exporter's turn,
// stored, store failed, no room, store lost, cancel, fail, suspend.
// clang-format off
constexpr std::array<Row, kStates> kTable = {{
    {kWaiting,
     {{{kComputing, Duty::kGoOn}, Stays(kWaiting), Stays(kWaiting), {kComplete, Duty::kGoOn},
       Stays(kWaiting), Stays(kWaiting), Stays(kWaiting), Stays(kWaiting),
       Stays(kWaiting), {kEnded, Duty::kCancel}, {kEnded, Duty::kFail}, {kEnded, Duty::kLetGo}}}},
    {kComputing,
     {{Stays(kComputing), {kWaiting, Duty::kGoOn}, {kCompleting, Duty::kGoOn}, {kComplete, Duty::kGoOn},
       Stays(kComputing), Stays(kComputing), Stays(kComputing), Stays(kComputing),
       Stays(kComputing), {kEnded, Duty::kCancel}, {kEnded, Duty::kFail}, {kEnded, Duty::kLetGo}}}},
    {kCompleting,
     {{Stays(kCompleting), {kWaiting, Duty::kGoOn}, Stays(kCompleting), {kComplete, Duty::kGoOn},
       {kStoringAhead, Duty::kGoOn}, Stays(kCompleting), Stays(kCompleting), Stays(kCompleting),
       Stays(kCompleting), {kAbandoned, Duty::kAnnounceCancel}, Stays(kCompleting), {kAbandoned, Duty::kGoOn}}}},
    {kComplete,
     {{Stays(kComplete), Stays(kComplete), Stays(kComplete), Stays(kComplete),
       {kStoring, Duty::kGoOn}, Stays(kComplete), Stays(kComplete), Stays(kComplete),
       Stays(kComplete), {kAbandoned, Duty::kAnnounceCancel}, Stays(kComplete), {kAbandoned, Duty::kGoOn}}}},
    {kStoringAhead,
     {{Stays(kStoringAhead), {kWaiting, Duty::kGoOn}, Stays(kStoringAhead), {kStoring, Duty::kGoOn},
       Stays(kStoringAhead), {kEnded, Duty::kComplete}, {kEnded, Duty::kFail}, {kCompleting, Duty::kGoOn},
       Stays(kStoringAhead), {kCancellingAhead, Duty::kGoOn}, Stays(kStoringAhead), {kSuspendingAhead, Duty::kGoOn}}}},
    {kStoring,
     {{Stays(kStoring), Stays(kStoring), Stays(kStoring), Stays(kStoring),
       Stays(kStoring), {kEnded, Duty::kComplete}, {kEnded, Duty::kFail}, {kComplete, Duty::kGoOn},
       {kEnded, Duty::kFail}, {kCancelling, Duty::kGoOn}, Stays(kStoring), {kSuspending, Duty::kGoOn}}}},
    {kCancellingAhead,
     {{Stays(kCancellingAhead), {kEnded, Duty::kCancel}, Stays(kCancellingAhead), {kCancelling, Duty::kGoOn},
       Stays(kCancellingAhead), {kEnded, Duty::kComplete}, {kEnded, Duty::kCancel}, {kEnded, Duty::kCancel},
       {kEnded, Duty::kCancel}, Stays(kCancellingAhead), Stays(kCancellingAhead), Stays(kCancellingAhead)}}},
    {kCancelling,
     {{Stays(kCancelling), Stays(kCancelling), Stays(kCancelling), Stays(kCancelling),
       Stays(kCancelling), {kEnded, Duty::kComplete}, {kEnded, Duty::kCancel}, {kEnded, Duty::kCancel},
       {kEnded, Duty::kCancel}, Stays(kCancelling), Stays(kCancelling), Stays(kCancelling)}}},
    {kSuspendingAhead,
     {{Stays(kSuspendingAhead), {kEnded, Duty::kLetGo}, Stays(kSuspendingAhead), {kSuspending, Duty::kGoOn},
       Stays(kSuspendingAhead), {kEnded, Duty::kComplete}, {kEnded, Duty::kLetGo}, {kEnded, Duty::kLetGo},
       {kEnded, Duty::kLetGo}, Stays(kSuspendingAhead), Stays(kSuspendingAhead), Stays(kSuspendingAhead)}}},
    {kSuspending,
     {{Stays(kSuspending), Stays(kSuspending), Stays(kSuspending), Stays(kSuspending),
       Stays(kSuspending), {kEnded, Duty::kComplete}, {kEnded, Duty::kLetGo}, {kEnded, Duty::kLetGo},
       {kEnded, Duty::kLetGo}, Stays(kSuspending), Stays(kSuspending), Stays(kSuspending)}}},
    {kAbandoned,
     {{Stays(kAbandoned), Stays(kAbandoned), Stays(kAbandoned), Stays(kAbandoned),
       {kEnded, Duty::kLetGo}, Stays(kAbandoned), Stays(kAbandoned), Stays(kAbandoned),
       Stays(kAbandoned), Stays(kAbandoned), Stays(kAbandoned), Stays(kAbandoned)}}},
    {kEnded,
     {{Stays(kEnded), Stays(kEnded), Stays(kEnded), Stays(kEnded),
       Stays(kEnded), Stays(kEnded), Stays(kEnded), Stays(kEnded),
       Stays(kEnded), Stays(kEnded), Stays(kEnded), Stays(kEnded)}}},
}};
// clang-format on

TEST(Lifecycle, EveryEventInEveryState) {
  for (int i = 0; i < kStates; ++i) {
    const Row& row = kTable[i];
    ASSERT_EQ(static_cast<int>(row.state), i) << "a row is missing or stands elsewhere";
    for (int j = 0; j < kEvents; ++j) {
      const auto event = static_cast<LifeEvent>(j);
      const LifeStep step = Next(row.state, event);
      EXPECT_EQ(step, row.steps[j])
          << Name(row.state) << ", " << Name(event) << ": becomes " << Name(step.next)
          << " with duty " << static_cast<int>(step.duty) << ", not " << Name(row.steps[j].next)
          << " with " << static_cast<int>(row.steps[j].duty);
    }
  }
  // Neither has more than the table knows.
  EXPECT_EQ(Name(static_cast<LifeState>(kStates)), nullptr);
  EXPECT_EQ(Name(static_cast<LifeEvent>(kEvents)), nullptr);
}

TEST(Lifecycle, WhatNeedsNothingChangesNothing) {
  for (const Row& row : kTable) {
    for (int j = 0; j < kEvents; ++j) {
      const LifeStep step = Next(row.state, static_cast<LifeEvent>(j));
      EXPECT_EQ(step.next == row.state, step.duty == Duty::kNone) << Name(row.state) << " " << j;
    }
  }
}

// Whatever happens, the memory is given back exactly once.
TEST(Lifecycle, TheMemoryIsGivenBackOnTheWayToTheEnd) {
  for (const Row& row : kTable) {
    for (int j = 0; j < kEvents; ++j) {
      const LifeStep step = Next(row.state, static_cast<LifeEvent>(j));
      if (step.duty == Duty::kNone) continue;
      const bool gives_back = step.duty != Duty::kGoOn && step.duty != Duty::kAnnounceCancel;
      EXPECT_EQ(step.next == kEnded, gives_back) << Name(row.state) << " " << j;
    }
  }
}

TEST(Lifecycle, TheExporterIsToldToStopWhileItIsAtWork) {
  for (const Row& row : kTable) {
    const bool stops = row.state == kCancellingAhead || row.state == kCancelling ||
                       row.state == kSuspendingAhead || row.state == kSuspending;
    EXPECT_EQ(StopsStoring(row.state), stops) << Name(row.state);
    EXPECT_EQ(IsOver(row.state), row.state == kAbandoned || row.state == kEnded) << Name(row.state);
  }
}

}  // namespace
}  // namespace isocenter::pipeline
