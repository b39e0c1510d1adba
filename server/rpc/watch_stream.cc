#include "server/rpc/watch_stream.h"

#include <utility>

#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

WatchStream* WatchStream::Start(jobs::JobTable& table, CallCounter& calls,
                                const v1::WatchJobRequest& request) {
  std::shared_ptr<WatchStream> stream(new WatchStream(table, calls, request));
  stream->self_ = stream;
  std::weak_ptr<WatchStream> weak = stream;
  absl::StatusOr<jobs::JobTable::Subscription> subscription =
      table.Subscribe(request.job_id(), [weak] {
        if (const auto self = weak.lock()) {
          absl::MutexLock lock(&self->mutex_);
          self->Pump();
        }
      });
  absl::MutexLock lock(&stream->mutex_);
  if (subscription.ok()) stream->subscription_ = *std::move(subscription);
  stream->Pump();
  return stream.get();
}

void WatchStream::Pump() {
  if (writing_ || finished_) return;
  if (cancelled_) return End(grpc::Status::CANCELLED);
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(job_id_);
  if (!job.ok()) return End(ToGrpc(job.status()));
  if (*job != sent_) {
    const auto known_preview = sent_ == nullptr ? nullptr : sent_->preview;
    sent_ = *job;
    v1::Job message = ToProto(*sent_);
    if (previews_ && sent_->preview != nullptr && sent_->preview != known_preview) {
      *message.mutable_preview() = PreviewToProto(*sent_->preview);
    }
    outgoing_ = BytesOf(message);
    writing_ = true;
    StartWrite(&outgoing_);
  } else if (jobs::HasEnded(sent_->state)) {
    End(grpc::Status::OK);
  }
}

void WatchStream::End(const grpc::Status& status) {
  finished_ = true;
  Finish(status);
}

void WatchStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok) cancelled_ = true;
  Pump();
}

void WatchStream::OnCancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  Pump();
}

void WatchStream::OnDone() {
  std::shared_ptr<WatchStream> last;
  jobs::JobTable::Subscription subscription;
  absl::MutexLock lock(&mutex_);
  subscription = std::move(subscription_);
  last = std::move(self_);
}

}  // namespace isocenter::rpc
