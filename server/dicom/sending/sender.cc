#include "server/dicom/sending/sender.h"

#include <memory>
#include <random>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/dicom/net/library.h"
#include "server/dicom/sending/lane.h"

namespace isocenter::dicom {
namespace {

/// A generator for one lane, whose lock guards it.
std::function<double()> ByChance() {
  return [generator = std::make_shared<std::mt19937_64>(std::random_device()())] {
    return std::uniform_real_distribution<double>(0, 1)(*generator);
  };
}

}  // namespace

absl::string_view Name(SendEvent event) {
  constexpr absl::string_view kNames[] = {"sent", "failed", "postponed", "skipped"};
  return kNames[static_cast<size_t>(event)];
}

Sender::Sender(SenderOptions options, archive::Archive& archive, SendObserver observer)
    : options_(std::move(options)), observer_(std::move(observer)), queue_(archive.transfers()) {}

absl::StatusOr<std::unique_ptr<Sender>> Sender::Start(SenderOptions options,
                                                      archive::Archive& archive,
                                                      SendObserver observer) {
  ConfigureLibrary();
  std::unique_ptr<Sender> sender(new Sender(std::move(options), archive, std::move(observer)));
  std::vector<archive::QueueDestination> known;
  for (const SendDestination& destination : sender->options_.destinations) {
    known.push_back(
        {destination.route.destination, destination.first_retry, destination.longest_retry});
  }
  ISO_RETURN_IF_ERROR(sender->queue_.Configure(std::move(known), sender->options_.now()));
  for (const SendDestination& destination : sender->options_.destinations) {
    sender->lanes_.push_back(
        std::make_unique<Lane>(destination, sender->options_, sender->queue_, sender->observer_,
                               sender->options_.random ? sender->options_.random : ByChance()));
  }
  sender->queue_.SetListener([raw = sender.get()] {
    for (const std::unique_ptr<Lane>& lane : raw->lanes_) lane->Wake();
  });
  return sender;
}

Sender::~Sender() { Stop(); }

void Sender::Stop() {
  queue_.SetListener(nullptr);
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->Stop();
}

}  // namespace isocenter::dicom
