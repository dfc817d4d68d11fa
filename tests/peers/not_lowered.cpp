#include "tests/peers/not_lowered.h"

namespace windtunnel::peers {

const std::vector<NotLowered>& not_lowered() {
  constexpr const char* kNoSync =
      "no key leaves gradients of sharded weights unreduced between micro-batches of one stage";
  constexpr const char* kSchedule =
      "its action list is compared; programs have forward and backward";
  constexpr const char* kZero =
      "sharding zero1 is DeepSpeed's and Megatron's: ZeroRedundancyOptimizer deals whole "
      "parameters "
      "out and broadcasts them";
  static const std::vector<NotLowered> kRows{
      {"fsdp2_2", "accumulate_no_sync", kNoSync},
      {"fsdp2_2", "accumulate_no_sync_say_last", kNoSync},
      {"fsdp2_2", "accumulate_no_sync_keep", kNoSync},
      {"fsdp2_hsdp_4", "hsdp_2x2_all_reduce_last", kNoSync},
      {"fsdp1_2", "full_shard_no_sync", kNoSync},
      {"fsdp1_2", "shard_grad_op_no_sync", kNoSync},
      {"fsdp1_2", "full_shard_post", "`prefetch` is before a unit's backward, never behind it"},
      {"fsdp1_2", "no_shard", "a shard group of one device is plain data parallelism"},
      {"ddp_2", "cap_0.03_mib_accumulate", "replicas are lowered with no_sync"},
      {"ddp_2", "cap_0.03_mib_find_unused", "every parameter has a gradient"},
      {"zero1_2", "zero1", kZero},
      {"zero1_2", "zero1_bucket_view", kZero},
      {"pipeline_run_2", "bfs", kSchedule},
      {"pipeline_run_2", "interleaved_zb", kSchedule},
      {"pipeline_run_2", "zbv", kSchedule},
      {"pipeline_run_2", "dualpipev", kSchedule},
      {"pipeline_run_fsdp_4", "fsdp_zbv", kSchedule},
  };
  return kRows;
}

}  // namespace windtunnel::peers
