#include "server/rpc/watch_stream.h"

#include <utility>

#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

WatchStream* WatchStream::New(const Guard& guard, grpc::CallbackServerContext& context,
                              const Method& method, jobs::JobTable& table, CallCounter& calls) {
  std::shared_ptr<WatchStream> stream(new WatchStream(guard, context, method, table, calls));
  stream->self_ = stream;
  return stream.get();
}

void WatchStream::OnRequest(const grpc::ByteBuffer& bytes) {
  v1::WatchJobRequest request;
  const absl::Status parsed = ParseRequest(bytes, request);
  if (!parsed.ok()) return Finish(ToGrpc(parsed, context()));
  if (const auto job = table_.Get(request.job_id()); job.ok()) {
    permit().Record(audit::Action::kView, **job, job.status());
  }
  std::weak_ptr<WatchStream> weak = weak_from_this();
  absl::StatusOr<jobs::JobTable::Subscription> subscription =
      table_.Subscribe(request.job_id(), [weak] {
        if (const auto self = weak.lock()) {
          absl::MutexLock lock(&self->mutex_);
          self->Pump();
        }
      });
  absl::MutexLock lock(&mutex_);
  if (subscription.ok()) subscription_ = *std::move(subscription);
  request_ = std::move(request);
  begun_ = true;
  Pump();
}

void WatchStream::Pump() {
  if (!begun_ || writing_ || finished_) return;
  if (cancelled_) return End(grpc::Status::CANCELLED);
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(request_.job_id());
  if (!job.ok()) return End(ToGrpc(job.status(), context()));
  if (*job != sent_) {
    const auto known_preview = sent_ == nullptr ? nullptr : sent_->preview;
    sent_ = *job;
    v1::Job message = ToProto(*sent_);
    if (request_.previews() && sent_->preview != nullptr && sent_->preview != known_preview) {
      *message.mutable_preview() = PreviewToProto(*sent_);
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
  SingleRequestCall::OnCancel();
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  Pump();
}

void WatchStream::OnEnd() {
  std::shared_ptr<WatchStream> last;
  jobs::JobTable::Subscription subscription;
  absl::MutexLock lock(&mutex_);
  subscription = std::move(subscription_);
  last = std::move(self_);
}

}  // namespace isocenter::rpc
