"""Parameter counts of the zoo's models, from transformers on the meta device: nothing is loaded.

The configs are the published config.json values that decide a shape. Active parameters are all but
the routed experts that a token does not visit; embeddings and head count.
"""

import math
import re

import torch
import transformers

from launch import write

LLAMA = {"model_type": "llama", "tie_word_embeddings": False}
MODELS = {
    "gpt2": {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768,
             "n_layer": 12, "n_head": 12},
    "gpt2-xl": {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 1600,
                "n_layer": 48, "n_head": 25},
    "llama2-7b": {**LLAMA, "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
                  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32},
    "llama2-13b": {**LLAMA, "vocab_size": 32000, "hidden_size": 5120, "intermediate_size": 13824,
                   "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 40},
    "llama2-70b": {**LLAMA, "vocab_size": 32000, "hidden_size": 8192, "intermediate_size": 28672,
                   "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8},
    "llama3-8b": {**LLAMA, "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
                  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8},
    "llama3-70b": {**LLAMA, "vocab_size": 128256, "hidden_size": 8192, "intermediate_size": 28672,
                   "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8},
    "llama3-405b": {**LLAMA, "vocab_size": 128256, "hidden_size": 16384,
                    "intermediate_size": 53248, "num_hidden_layers": 126,
                    "num_attention_heads": 128, "num_key_value_heads": 8},
    "bloom-176b": {"model_type": "bloom", "vocab_size": 250880, "hidden_size": 14336,
                   "n_layer": 70, "n_head": 112},
    "mixtral-8x7b": {"model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096,
                     "intermediate_size": 14336, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 8,
                     "num_local_experts": 8, "num_experts_per_tok": 2,
                     "tie_word_embeddings": False},
    "deepseek-v3": {"model_type": "deepseek_v3", "vocab_size": 129280, "hidden_size": 7168,
                    "intermediate_size": 18432, "moe_intermediate_size": 2048,
                    "num_hidden_layers": 61, "num_attention_heads": 128,
                    "num_key_value_heads": 128, "n_shared_experts": 1, "n_routed_experts": 256,
                    "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
                    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
                    "n_group": 8, "topk_group": 4, "num_experts_per_tok": 8,
                    "tie_word_embeddings": False},
    "qwen3-30b-a3b": {"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048,
                      "intermediate_size": 6144, "moe_intermediate_size": 768,
                      "num_hidden_layers": 48, "num_attention_heads": 32,
                      "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
                      "num_experts_per_tok": 8, "tie_word_embeddings": False},
    "qwen3-235b-a22b": {"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 4096,
                        "intermediate_size": 12288, "moe_intermediate_size": 1536,
                        "num_hidden_layers": 94, "num_attention_heads": 64,
                        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
                        "num_experts_per_tok": 8, "tie_word_embeddings": False},
}
EXPERTS = ("num_local_experts", "n_routed_experts", "num_experts")


def count(values):
    config = transformers.AutoConfig.for_model(**values)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    total, routed, kinds = 0, 0, {}
    for name, p in model.named_parameters():
        total += p.numel()
        routed += p.numel() if ".experts." in name else 0
        kind = re.sub(r"\.\d+\.", ".*.", name)
        number = kinds.get((kind, tuple(p.shape)), 0)
        kinds[kind, tuple(p.shape)] = number + 1
    experts = next((values[k] for k in EXPERTS if k in values), None)
    result = {"total": total}
    if experts:
        chosen = values["num_experts_per_tok"]
        result["active"] = total - routed + routed * chosen // experts
        result["routed_experts"] = routed
    embedding = model.get_input_embeddings().weight
    result["embedding"] = embedding.numel()
    result["tied"] = embedding is model.get_output_embeddings().weight
    result["tensors"] = {f"{kind} {'x'.join(map(str, shape))}": f"{number} * {math.prod(shape)}"
                         for (kind, shape), number in kinds.items()}
    return {**result, "config": " ".join(f"{k}={v}" for k, v in values.items())}


def record():
    write("counts", {"transformers": transformers.__version__,
                     "models": {name: count(values) for name, values in MODELS.items()}})
