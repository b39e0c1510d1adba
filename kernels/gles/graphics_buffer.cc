#include "kernels/gles/graphics_buffer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"

namespace isocenter::gles {
namespace {

constexpr int64_t kFloat = sizeof(float);
// Of the targets that buffers are bound to, the one that nothing else depends on.
constexpr GLenum kTarget = GL_COPY_WRITE_BUFFER;

}  // namespace

absl::StatusOr<GraphicsBuffer> GraphicsBuffer::Create(std::shared_ptr<const Context> context,
                                                      std::shared_ptr<ops::MemoryBudget> budget,
                                                      int64_t floats) {
  ISO_RETURN_IF_ERROR(budget->Take(floats * kFloat));
  GraphicsBuffer buffer;
  buffer.context_ = std::move(context);
  buffer.budget_ = std::move(budget);
  buffer.floats_ = floats;
  const Context::Current current(*buffer.context_);
  const Functions& gl = buffer.context_->gl();
  gl.GenBuffers(1, &buffer.buffer_);
  gl.BindBuffer(kTarget, buffer.buffer_);
  gl.BufferData(kTarget, buffer.bytes(), nullptr, GL_DYNAMIC_COPY);
  ISO_RETURN_IF_ERROR(buffer.context_->Check("taking memory"));
  return buffer;
}

GraphicsBuffer& GraphicsBuffer::operator=(GraphicsBuffer&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(budget_, other.budget_);
  std::swap(buffer_, other.buffer_);
  std::swap(floats_, other.floats_);
  return *this;
}

GraphicsBuffer::~GraphicsBuffer() {
  if (context_ == nullptr) return;
  const Context::Current current(*context_);
  context_->gl().DeleteBuffers(1, &buffer_);
  budget_->Return(bytes());
}

absl::Status GraphicsBuffer::Upload(int64_t first, int64_t count, const float* values) {
  const Context::Current current(*context_);
  const Functions& gl = context_->gl();
  gl.BindBuffer(kTarget, buffer_);
  gl.BufferSubData(kTarget, first * kFloat, count * kFloat, values);
  return context_->Check("uploading");
}

absl::Status GraphicsBuffer::Download(int64_t first, int64_t count, float* values) const {
  if (count == 0) return absl::OkStatus();
  const Context::Current current(*context_);
  const Functions& gl = context_->gl();
  gl.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  gl.BindBuffer(kTarget, buffer_);
  const void* const mapped =
      gl.MapBufferRange(kTarget, first * kFloat, count * kFloat, GL_MAP_READ_BIT);
  ISO_RETURN_IF_ERROR(context_->Check("downloading"));
  if (mapped == nullptr) return absl::InternalError("a graphics buffer cannot be mapped");
  std::copy_n(static_cast<const float*>(mapped), count, values);
  gl.UnmapBuffer(kTarget);
  return absl::OkStatus();
}

absl::Status GraphicsBuffer::Fill(int64_t count, float value) {
  const std::vector<float> values(std::min<int64_t>(count, int64_t{4} << 20), value);
  const auto at_once = static_cast<int64_t>(values.size());
  for (int64_t first = 0; first < count; first += at_once) {
    ISO_RETURN_IF_ERROR(Upload(first, std::min(at_once, count - first), values.data()));
  }
  return absl::OkStatus();
}

int GraphicsBuffer::Bind(int binding, int64_t first, int64_t count) const {
  const int64_t alignment = context_->binding_alignment();
  const int64_t begin = first * kFloat / alignment * alignment;
  context_->gl().BindBufferRange(GL_SHADER_STORAGE_BUFFER, static_cast<GLuint>(binding), buffer_,
                                 begin, (first + count) * kFloat - begin);
  return static_cast<int>(first - begin / kFloat);
}

absl::StatusOr<GraphicsBuffer*> GraphicsScratch::Reserve(int64_t floats) {
  if (floats > buffer_.floats()) {
    buffer_ = GraphicsBuffer();
    ISO_ASSIGN_OR_RETURN(buffer_, GraphicsBuffer::Create(context_, budget_, floats));
  }
  return &buffer_;
}

}  // namespace isocenter::gles
