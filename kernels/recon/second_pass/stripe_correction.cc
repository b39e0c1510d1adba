#include "kernels/recon/second_pass/stripe_correction.h"

#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/recon/second_pass/metal_evidence.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<StripeCorrection>> StripeCorrection::Create(
    const SecondPassPlan& plan, const ops::Registry& registry, ops::Device& device) {
  std::unique_ptr<StripeCorrection> self(new StripeCorrection(plan));
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ops::Session& session = *self->session_;
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, session.backend()));
  ISO_ASSIGN_OR_RETURN(self->rows_, session.NewProjectionStack({plan.views(), plan.stripe_rows,
                                                                plan.acquisition.detector.columns},
                                                               ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->remove_, methods.stripes(session));
  return self;
}

absl::Status StripeCorrection::Run(int first_row, LineStore& lines) {
  const Detector& detector = plan_.acquisition.detector;
  const int rows = std::min(plan_.stripe_rows, detector.rows - first_row);
  ISO_RETURN_IF_ERROR(rows_->Reshape({plan_.views(), rows, detector.columns}));
  const auto rows_of = [&](int view) {
    return HostView3<float>(lines.Lines(view, 1).data() + int64_t{first_row} * detector.columns,
                            {1, rows, detector.columns});
  };
  for (int view = 0; view < plan_.views(); ++view) {
    ISO_RETURN_IF_ERROR(rows_->Upload(view, rows_of(view)));
  }
  ISO_RETURN_IF_ERROR(remove_->Run(*rows_));
  const int stride = AskedViewStride(plan_.views());
  for (int view = 0; view < plan_.views(); ++view) {
    const HostView3<float> into = rows_of(view);
    const bool asked = view % stride == 0;
    if (asked) before_.assign(into.span().begin(), into.span().end());
    ISO_RETURN_IF_ERROR(rows_->Download(view, into));
    if (asked) taken_off_.Add(before_, into.span());
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
