// The functions of OpenGL ES that this room calls, found at run time.
#pragma once

#include <GLES3/gl31.h>

namespace isocenter::gles {

// clang-format off
#define ISOCENTER_GLES_FUNCTIONS(X)                                                              \
  X(ActiveTexture) X(AttachShader) X(BindBuffer) X(BindBufferRange) X(BindFramebuffer)           \
  X(BindTexture) X(BlendFunc) X(BufferData) X(BufferSubData) X(CheckFramebufferStatus)           \
  X(ClearBufferfv) X(CompileShader) X(CreateProgram) X(CreateShader) X(DeleteBuffers)            \
  X(DeleteFramebuffers) X(DeleteShader) X(DeleteTextures) X(Disable) X(DispatchCompute)          \
  X(DrawArrays) X(DrawArraysInstanced) X(Enable) X(Finish) X(FramebufferTexture2D)               \
  X(GenBuffers) X(GenFramebuffers) X(GenTextures) X(GetError) X(GetIntegerv)                     \
  X(GetProgramInfoLog) X(GetProgramiv) X(GetShaderInfoLog) X(GetShaderiv) X(GetString)           \
  X(GetUniformLocation) X(LinkProgram) X(MapBufferRange) X(MemoryBarrier) X(ShaderSource)        \
  X(TexImage2D) X(TexParameteri) X(Uniform1f) X(Uniform1fv) X(Uniform1i) X(Uniform2f)            \
  X(UnmapBuffer) X(UseProgram) X(Viewport)
// clang-format on

/// Functions without their prefix gl; all are there once a context was made.
struct Functions {
#define ISOCENTER_GLES_MEMBER(name) decltype(&::gl##name) name = nullptr;
  ISOCENTER_GLES_FUNCTIONS(ISOCENTER_GLES_MEMBER)
#undef ISOCENTER_GLES_MEMBER
};

}  // namespace isocenter::gles
