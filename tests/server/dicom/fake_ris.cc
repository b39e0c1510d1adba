#include "tests/server/dicom/fake_ris.h"

#include <arpa/inet.h>
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/dimse.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "absl/time/clock.h"

namespace isocenter::dicom {
namespace {

std::string TextOf(DcmDataset& dataset) {
  std::ostringstream text;
  dataset.print(text);
  return text.str();
}

}  // namespace

FakeRis::FakeRis() { Start(); }
FakeRis::~FakeRis() { Stop(); }

void FakeRis::Start() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port_));
  ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener_, 8), 0);
  socklen_t length = sizeof address;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  stopping_ = false;
  interruptor_ = std::make_unique<Interruptor>();
  thread_ = std::thread([this] { Accept(); });
}

void FakeRis::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  interruptor_->Interrupt();
  thread_.join();
  close(listener_);
}

std::vector<FakeRis::StepMessage> FakeRis::messages() const {
  absl::MutexLock lock(&mutex_);
  return messages_;
}

void FakeRis::Accept() {
  while (!stopping_) {
    pollfd watched = {listener_, POLLIN, 0};
    if (poll(&watched, 1, 20) <= 0) continue;
    const int connected = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connected >= 0) Serve(connected);
  }
}

void FakeRis::Serve(int socket) {
  auto association = Association::Receive(socket, false, {.ae_title = "RIS"}, *interruptor_);
  if (!association.ok()) return;
  const char* syntaxes[] = {UID_LittleEndianExplicitTransferSyntax,
                            UID_LittleEndianImplicitTransferSyntax};
  const char* classes[] = {UID_FINDModalityWorklistInformationModel,
                           UID_ModalityPerformedProcedureStepSOPClass};
  ASC_acceptContextsWithPreferredTransferSyntaxes(association->get()->params, classes, 2, syntaxes,
                                                  2);
  if (ASC_acknowledgeAssociation(association->get()).bad()) return;
  while (ServeMessage(*association)) {
  }
}

bool FakeRis::ServeMessage(Association& association) {
  association.AllowMessage();
  T_ASC_Association* const raw = association.get();
  T_ASC_PresentationContextID context = 0;
  T_DIMSE_Message message = {};
  const OFCondition condition =
      DIMSE_receiveCommand(raw, DIMSE_NONBLOCKING, 20, &context, &message, nullptr);
  if (condition == DUL_PEERREQUESTEDRELEASE) {
    association.AcknowledgeRelease();
    return false;
  }
  if (condition.bad()) return false;
  DcmDataset* received = nullptr;
  if (message.CommandField == DIMSE_C_CANCEL_RQ) return true;
  if (DIMSE_receiveDataSetInMemory(raw, DIMSE_NONBLOCKING, 20, &context, &received, nullptr,
                                   nullptr)
          .bad()) {
    return false;
  }
  const std::unique_ptr<DcmDataset> data(received);
  absl::SleepFor(delay);
  if (message.CommandField == DIMSE_C_FIND_RQ) {
    const T_DIMSE_C_FindRQ& request = message.msg.CFindRQ;
    T_DIMSE_C_FindRSP response = {};
    response.MessageIDBeingRespondedTo = request.MessageID;
    OFStandard::strlcpy(response.AffectedSOPClassUID, request.AffectedSOPClassUID,
                        sizeof response.AffectedSOPClassUID);
    response.opts = O_FIND_AFFECTEDSOPCLASSUID;
    if (find) {
      for (const auto& answer : find(*data)) {
        response.DimseStatus = STATUS_FIND_Pending_MatchesAreContinuing;
        response.DataSetType = DIMSE_DATASET_PRESENT;
        DIMSE_sendFindResponse(raw, context, &request, &response, answer.get(), nullptr);
      }
    }
    response.DimseStatus = STATUS_FIND_Success_MatchingIsComplete;
    response.DataSetType = DIMSE_DATASET_NULL;
    return DIMSE_sendFindResponse(raw, context, &request, &response, nullptr, nullptr).good();
  }
  StepMessage step;
  step.creates = message.CommandField == DIMSE_N_CREATE_RQ;
  step.uid = step.creates ? message.msg.NCreateRQ.AffectedSOPInstanceUID
                          : message.msg.NSetRQ.RequestedSOPInstanceUID;
  OFString status;
  data->findAndGetOFString(DCM_PerformedProcedureStepStatus, status);
  step.status = status.c_str();
  step.text = TextOf(*data);
  {
    absl::MutexLock lock(&mutex_);
    messages_.push_back(step);
  }
  const int code = answer ? answer(step) : 0;
  if (code < 0) return false;
  T_DIMSE_Message response = {};
  if (step.creates) {
    response.CommandField = DIMSE_N_CREATE_RSP;
    response.msg.NCreateRSP.MessageIDBeingRespondedTo = message.msg.NCreateRQ.MessageID;
    response.msg.NCreateRSP.DimseStatus = static_cast<DIC_US>(code);
    response.msg.NCreateRSP.DataSetType = DIMSE_DATASET_NULL;
  } else {
    response.CommandField = DIMSE_N_SET_RSP;
    response.msg.NSetRSP.MessageIDBeingRespondedTo = message.msg.NSetRQ.MessageID;
    response.msg.NSetRSP.DimseStatus = static_cast<DIC_US>(code);
    response.msg.NSetRSP.DataSetType = DIMSE_DATASET_NULL;
  }
  return DIMSE_sendMessageUsingMemoryData(raw, context, &response, nullptr, nullptr, nullptr,
                                          nullptr)
      .good();
}

}  // namespace isocenter::dicom
