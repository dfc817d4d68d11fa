#pragma once
// Which implementation of each kernel runs: a set for the interpreter and the field, a set for
// devices. Kernels that have one implementation are called by name (`kernel_rows.h`).

#include <type_traits>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/flash.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/loss.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/rope.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/flash.h"
#include "kernels/reference/flash_block.h"
#include "kernels/reference/gemm.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/norm.h"
#include "kernels/reference/optimizer.h"
#include "kernels/reference/rope.h"

namespace windtunnel::kernel_rows {

/// Naive: what the others are held against.
template <class T, class Mask, class Token>
struct ReferenceSet {
  static constexpr auto gemm_fwd = reference::gemm_fwd<T>;
  static constexpr auto gemm_dgrad = reference::gemm_dgrad<T>;
  static constexpr auto gemm_wgrad = reference::gemm_wgrad<T>;
  static constexpr auto rope = reference::rope<T>;
  static constexpr auto flash_fwd = reference::flash_fwd<T>;
  static constexpr auto flash_bwd = reference::flash_bwd<T>;
  static constexpr auto flash_block_fwd = reference::flash_block_fwd<T>;
  static constexpr auto flash_block_bwd = reference::flash_block_bwd<T>;
  static constexpr auto scores_fwd = reference::scores_fwd<T>;
  static constexpr auto softmax_fwd = reference::softmax_fwd<T>;
  static constexpr auto context_fwd = reference::context_fwd<T>;
  static constexpr auto context_bwd = reference::context_bwd<T>;
  static constexpr auto softmax_bwd = reference::softmax_bwd<T>;
  static constexpr auto scores_bwd = reference::scores_bwd<T>;
  static constexpr auto layernorm_fwd = reference::layernorm_fwd<T>;
  static constexpr auto layernorm_bwd = reference::layernorm_bwd<T>;
  static constexpr auto rmsnorm_fwd = reference::rmsnorm_fwd<T>;
  static constexpr auto rmsnorm_bwd = reference::rmsnorm_bwd<T>;
  static constexpr auto activation_fwd = reference::activation_fwd<T>;
  static constexpr auto activation_bwd = reference::activation_bwd<T>;
  static constexpr auto ce_max = reference::ce_max<T>;
  static constexpr auto adamw = reference::adamw<T>;
  static constexpr auto ce_partial = reference::ce_partial<T, Token>;
  static constexpr auto ce_bwd = reference::ce_bwd<T, Token>;
  static constexpr auto dropout_add = reference::dropout_add<T, Mask>;
  static constexpr auto dropout_hidden = reference::dropout_fwd<T, Mask, reference::HiddenElements>;
  static constexpr auto dropout_attention =
      reference::dropout_fwd<T, Mask, reference::AttentionElements>;
};

/// Fast, fp32 and fp64.
template <class T, class Mask, class Token>
struct CpuSet {
  static constexpr auto gemm_fwd = cpu::gemm_fwd<T>;
  static constexpr auto gemm_dgrad = cpu::gemm_dgrad<T>;
  static constexpr auto gemm_wgrad = cpu::gemm_wgrad<T>;
  static constexpr auto rope = cpu::rope<T>;
  static constexpr auto flash_fwd = cpu::flash_fwd<T>;
  static constexpr auto flash_bwd = cpu::flash_bwd<T>;
  static constexpr auto flash_block_fwd = cpu::flash_block_fwd<T>;
  static constexpr auto flash_block_bwd = cpu::flash_block_bwd<T>;
  static constexpr auto scores_fwd = cpu::scores_fwd<T>;
  static constexpr auto softmax_fwd = cpu::softmax_fwd<T>;
  static constexpr auto context_fwd = cpu::context_fwd<T>;
  static constexpr auto context_bwd = cpu::context_bwd<T>;
  static constexpr auto softmax_bwd = cpu::softmax_bwd<T>;
  static constexpr auto scores_bwd = cpu::scores_bwd<T>;
  static constexpr auto layernorm_fwd = cpu::layernorm_fwd<T>;
  static constexpr auto layernorm_bwd = cpu::layernorm_bwd<T>;
  static constexpr auto rmsnorm_fwd = cpu::rmsnorm_fwd<T>;
  static constexpr auto rmsnorm_bwd = cpu::rmsnorm_bwd<T>;
  static constexpr auto activation_fwd = cpu::activation_fwd<T>;
  static constexpr auto activation_bwd = cpu::activation_bwd<T>;
  static constexpr auto ce_max = cpu::ce_max<T>;
  static constexpr auto adamw = cpu::adamw<T>;
  static constexpr auto ce_partial = cpu::ce_partial<T, Token>;
  static constexpr auto ce_bwd = cpu::ce_bwd<T, Token>;
  static constexpr auto dropout_add = cpu::dropout_add<T, Mask>;
  static constexpr auto dropout_hidden = cpu::dropout_fwd<T, Mask, reference::HiddenElements>;
  static constexpr auto dropout_attention = cpu::dropout_fwd<T, Mask, reference::AttentionElements>;
};

/// The set of a call.
template <class C>
using SetOf =
    std::conditional_t<C::kFast, CpuSet<typename C::Value, typename C::Mask, typename C::Token>,
                       ReferenceSet<typename C::Value, typename C::Mask, typename C::Token>>;

}  // namespace windtunnel::kernel_rows
