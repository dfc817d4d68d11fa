#pragma once
// Element types of tensors and arithmetic.

#include <cstdint>

namespace windtunnel {

enum class Dtype : std::uint8_t {
  none,
  fp64,
  fp32,
  tf32,
  fp16,
  bf16,
  fp8,
  mxfp8,
  nvfp4,
  int64,
  int32,
  uint8,
  field,  // integers modulo 2^31 - 1 held in 8 bytes: exact arithmetic for proofs
};

/// Bytes of one stored element; scales of block formats are not counted here. nvfp4 is half a byte,
/// so sizes are given in bits.
constexpr int bits_of(Dtype d) {
  switch (d) {
    case Dtype::none:
      return 0;
    case Dtype::fp64:
    case Dtype::int64:
    case Dtype::field:
      return 64;
    case Dtype::fp32:
    case Dtype::tf32:
    case Dtype::int32:
      return 32;
    case Dtype::fp16:
    case Dtype::bf16:
      return 16;
    case Dtype::fp8:
    case Dtype::mxfp8:
    case Dtype::uint8:
      return 8;
    case Dtype::nvfp4:
      return 4;
  }
  return 0;
}

constexpr std::int64_t bytes_of(Dtype d, std::int64_t elements) {
  return (elements * bits_of(d) + 7) / 8;
}

constexpr const char* name_of(Dtype d) {
  switch (d) {
    case Dtype::none:
      return "none";
    case Dtype::fp64:
      return "fp64";
    case Dtype::fp32:
      return "fp32";
    case Dtype::tf32:
      return "tf32";
    case Dtype::fp16:
      return "fp16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::fp8:
      return "fp8";
    case Dtype::mxfp8:
      return "mxfp8";
    case Dtype::nvfp4:
      return "nvfp4";
    case Dtype::int64:
      return "int64";
    case Dtype::int32:
      return "int32";
    case Dtype::uint8:
      return "uint8";
    case Dtype::field:
      return "field";
  }
  return "?";
}

}  // namespace windtunnel
