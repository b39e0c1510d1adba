#include "tests/server/dicom/fake_pacs.h"

#include <arpa/inet.h>
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "gtest/gtest.h"

namespace isocenter::dicom {
namespace {

constexpr int kSeconds = 20;

std::unique_ptr<DcmDataset> ReceiveDataset(Association& association, uint8_t context) {
  association.AllowMessage();
  DcmDataset* raw = nullptr;
  T_ASC_PresentationContextID received = context;
  const OFCondition condition = DIMSE_receiveDataSetInMemory(
      association.get(), DIMSE_NONBLOCKING, kSeconds, &received, &raw, nullptr, nullptr);
  std::unique_ptr<DcmDataset> dataset(raw);
  return condition.good() ? std::move(dataset) : nullptr;
}

std::string Text(DcmItem& item, const DcmTagKey& key) {
  OFString value;
  item.findAndGetOFString(key, value);
  return value.c_str();
}

}  // namespace

FakePacs::FakePacs(PacsBehaviour behaviour, int port) : behaviour_(std::move(behaviour)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

FakePacs::~FakePacs() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (Connection& connection : connections_) connection.interruptor.Interrupt();
  for (Connection& connection : connections_) connection.thread.join();
}

void FakePacs::Accept() {
  for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    Connection& connection = connections_.emplace_back();
    connection.thread =
        std::thread([this, socket, &connection] { Serve(socket, connection.interruptor); });
  }
}

void FakePacs::Serve(int socket, Interruptor& interruptor) {
  NodeOptions options;
  options.ae_title = "PACS";
  absl::StatusOr<Association> association =
      Association::Receive(socket, false, options, interruptor);
  if (!association.ok()) return;
  T_ASC_Parameters* const parameters = association->get()->params;
  for (int i = 0; i < ASC_countPresentationContexts(parameters); ++i) {
    T_ASC_PresentationContext context;
    ASC_getPresentationContext(parameters, i, &context);
    const bool is_commitment =
        std::strcmp(context.abstractSyntax, UID_StorageCommitmentPushModelSOPClass) == 0;
    const bool takes =
        behaviour_.takes_images && !behaviour_.refused_classes.contains(context.abstractSyntax);
    if (is_commitment ? behaviour_.offers_commitment : takes) {
      ASC_acceptPresentationContext(parameters, context.presentationContextID,
                                    context.proposedTransferSyntaxes[0]);
    } else {
      ASC_refusePresentationContext(parameters, context.presentationContextID,
                                    ASC_P_ABSTRACTSYNTAXNOTSUPPORTED);
    }
  }
  if (ASC_acknowledgeAssociation(association->get()).bad()) return;
  {
    absl::MutexLock lock(&mutex_);
    ++associations_;
    most_open_ = std::max(most_open_, ++open_);
  }
  bool goes_on = true;
  while (goes_on) {
    association->AllowMessage();
    T_ASC_PresentationContextID context = 0;
    T_DIMSE_Message message;
    DcmDataset* detail = nullptr;
    const OFCondition condition = DIMSE_receiveCommand(association->get(), DIMSE_NONBLOCKING,
                                                       kSeconds, &context, &message, &detail);
    delete detail;
    if (condition == DUL_PEERREQUESTEDRELEASE) association->AcknowledgeRelease();
    if (condition.bad()) break;
    goes_on = message.CommandField == DIMSE_C_STORE_RQ
                  ? ServeStore(*association, context, message.msg.CStoreRQ)
              : message.CommandField == DIMSE_N_ACTION_RQ
                  ? ServeAction(*association, context, message.msg.NActionRQ, interruptor)
                  : false;
  }
  absl::MutexLock lock(&mutex_);
  --open_;
}

bool FakePacs::ServeStore(Association& association, uint8_t context,
                          const T_DIMSE_C_StoreRQ& request) {
  const std::unique_ptr<DcmDataset> dataset = ReceiveDataset(association, context);
  if (dataset == nullptr) return false;
  const std::string uid = Text(*dataset, DCM_SOPInstanceUID);
  int nth = 0;
  {
    absl::MutexLock lock(&mutex_);
    nth = stores_++;
  }
  const StoreFate fate = behaviour_.fate ? behaviour_.fate(uid, nth) : StoreFate::kAnswer;
  const uint16_t status = behaviour_.status ? behaviour_.status(uid, nth) : STATUS_Success;
  if (fate != StoreFate::kBreak && status == STATUS_Success) {
    absl::MutexLock lock(&mutex_);
    if (++receptions_[uid] == 1) order_.push_back(uid);
    instances_.insert(uid);
  }
  if (fate != StoreFate::kAnswer) return false;
  T_DIMSE_C_StoreRSP response = {};
  response.MessageIDBeingRespondedTo = request.MessageID;
  response.DimseStatus = status;
  response.DataSetType = DIMSE_DATASET_NULL;
  return DIMSE_sendStoreResponse(association.get(), context, &request, &response, nullptr).good();
}

bool FakePacs::ServeAction(Association& association, uint8_t context,
                           const T_DIMSE_N_ActionRQ& request, Interruptor& interruptor) {
  const std::unique_ptr<DcmDataset> information = ReceiveDataset(association, context);
  if (information == nullptr) return false;
  const std::string transaction_uid = Text(*information, DCM_TransactionUID);
  std::vector<std::pair<std::string, std::string>> items;
  DcmItem* item = nullptr;
  for (long i = 0; information->findAndGetSequenceItem(DCM_ReferencedSOPSequence, item, i).good();
       ++i) {
    items.emplace_back(Text(*item, DCM_ReferencedSOPClassUID),
                       Text(*item, DCM_ReferencedSOPInstanceUID));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (++requests_ == 1) {
      for (const std::string& uid : behaviour_.loses) instances_.erase(uid);
    }
  }
  T_DIMSE_Message message = {};
  message.CommandField = DIMSE_N_ACTION_RSP;
  message.msg.NActionRSP.MessageIDBeingRespondedTo = request.MessageID;
  message.msg.NActionRSP.DimseStatus = STATUS_Success;
  message.msg.NActionRSP.DataSetType = DIMSE_DATASET_NULL;
  if (DIMSE_sendMessageUsingMemoryData(association.get(), context, &message, nullptr, nullptr,
                                       nullptr, nullptr)
          .bad()) {
    return false;
  }
  if (behaviour_.report == ReportBy::kSameAssociation) {
    return SendReport(association, context, transaction_uid, items);
  }
  if (behaviour_.report == ReportBy::kNewAssociation) {
    NodeOptions options;
    options.ae_title = "PACS";
    absl::StatusOr<Association> own =
        Association::Request({"ISOCENTER", "127.0.0.1", behaviour_.report_port}, options,
                             {UID_StorageCommitmentPushModelSOPClass}, interruptor);
    EXPECT_TRUE(own.ok()) << own.status();
    if (own.ok()) {
      SendReport(*own, 1, transaction_uid, items);
      own->Release();
    }
  }
  return true;
}

bool FakePacs::SendReport(Association& association, uint8_t context,
                          const std::string& transaction_uid,
                          const std::vector<std::pair<std::string, std::string>>& items) {
  DcmDataset report;
  report.putAndInsertString(DCM_TransactionUID, transaction_uid.c_str());
  bool all = true;
  for (const auto& [sop_class, uid] : items) {
    const bool known = instances().contains(uid);
    all = all && known;
    DcmItem* item = nullptr;
    report.findOrCreateSequenceItem(known ? DCM_ReferencedSOPSequence : DCM_FailedSOPSequence, item,
                                    -2);
    item->putAndInsertString(DCM_ReferencedSOPClassUID, sop_class.c_str());
    item->putAndInsertString(DCM_ReferencedSOPInstanceUID, uid.c_str());
    if (!known) item->putAndInsertUint16(DCM_FailureReason, 0x0112);
  }
  T_DIMSE_Message message = {};
  message.CommandField = DIMSE_N_EVENT_REPORT_RQ;
  T_DIMSE_N_EventReportRQ& request = message.msg.NEventReportRQ;
  request.MessageID = association.get()->nextMsgID++;
  OFStandard::strlcpy(request.AffectedSOPClassUID, UID_StorageCommitmentPushModelSOPClass,
                      sizeof request.AffectedSOPClassUID);
  OFStandard::strlcpy(request.AffectedSOPInstanceUID, UID_StorageCommitmentPushModelSOPInstance,
                      sizeof request.AffectedSOPInstanceUID);
  request.EventTypeID = all ? 1 : 2;
  request.DataSetType = DIMSE_DATASET_PRESENT;
  association.AllowMessage();
  if (DIMSE_sendMessageUsingMemoryData(association.get(), context, &message, nullptr, &report,
                                       nullptr, nullptr)
          .bad()) {
    return false;
  }
  T_ASC_PresentationContextID answered = 0;
  T_DIMSE_Message answer;
  DcmDataset* detail = nullptr;
  const OFCondition received = DIMSE_receiveCommand(association.get(), DIMSE_NONBLOCKING, kSeconds,
                                                    &answered, &answer, &detail);
  delete detail;
  if (received.bad() || answer.CommandField != DIMSE_N_EVENT_REPORT_RSP) return false;
  absl::MutexLock lock(&mutex_);
  report_answers_.push_back(answer.msg.NEventReportRSP.DimseStatus);
  return true;
}

std::map<std::string, int> FakePacs::receptions() const {
  absl::MutexLock lock(&mutex_);
  return receptions_;
}
std::set<std::string> FakePacs::instances() const {
  absl::MutexLock lock(&mutex_);
  return instances_;
}
std::vector<std::string> FakePacs::order() const {
  absl::MutexLock lock(&mutex_);
  return order_;
}
int FakePacs::associations() const {
  absl::MutexLock lock(&mutex_);
  return associations_;
}
int FakePacs::most_associations_at_once() const {
  absl::MutexLock lock(&mutex_);
  return most_open_;
}
int FakePacs::commitment_requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}
std::vector<uint16_t> FakePacs::report_answers() const {
  absl::MutexLock lock(&mutex_);
  return report_answers_;
}

}  // namespace isocenter::dicom
