"""Small language models of the transformers library, each made from its configuration."""

from __future__ import annotations

from typing import Any, Final

import torch

ARCHITECTURES: Final = {
    kind: types.split()
    for kind, types in {
        "causal": (
            "afmoe apertus arcee aria_text bailing_hybrid beam bert-generation biogpt bitnet "
            "bloom codegen cohere cohere2 cohere2_moe cpmant ctrl cwm deepseek_v3 deepseek_v4 "
            "diffllama doge ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon flex_olmo flint "
            "gemma gemma2 gemma3_text glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa gpt-sw3 "
            "gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite "
            "granite_swa granitemoe granitemoe_swa granitemoeshared helium hrm_text "
            "hunyuan_v1_dense hy_v3 hy_v4 hyperclovax inkling2_text inkling_text internlm3 "
            "iquestcoder jais2 jetmoe kolibri1 laguna lfm2 lfm2_moe llama llama4_text mellum "
            "mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl_text ministral "
            "ministral3 mistral mixtral modernbert-decoder moshi mpt nanochat olmo olmo2 "
            "olmo3 olmo_hybrid olmoe openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe "
            "qwen3 qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next rwkv seed_oss smollm3 "
            "solar_open stablelm starcoder2 trocr vaultgemma whisper xglm xlnet youtu"
        ),
        "masked": (
            "albert bert big_bird camembert convbert data2vec-text deberta deberta-v2 "
            "distilbert electra ernie esm eurobert flaubert fnet funnel gte ibert "
            "jina_embeddings_v3 layoutlm longformer megatron-bert mobilebert modernbert mpnet "
            "mra nomic_bert nystromformer rembert roberta roberta-prelayernorm roformer "
            "squeezebert tapas ultrabert xlm xlm-roberta xlm-roberta-xl xmod yoso"
        ),
        "seq2seq": (
            "bart bigbird_pegasus blenderbot blenderbot-small fsmt led longt5 m2m_100 marian "
            "mbart mt5 mvp nllb-moe pegasus pegasus_x plbart prophetnet seamless_m4t "
            "seamless_m4t_v2 switch_transformers t5 umt5"
        ),
    }.items()
}
"""Types of models, as their configurations call them, each once: what they are made for first."""
SIZES: Final[dict[str, Any]] = {
    **dict.fromkeys(("vocab_size", "max_position_embeddings", "n_positions", "n_ctx"), 64),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "emb_dim", "dim", "d_embed"), 32),
    **dict.fromkeys(("embedding_size", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("intermediate_size", "n_inner", "d_ff", "ffn_dim", "hidden_dim"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size"), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "n_layers"), 2),
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 1),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("head_dim", "d_kv", "v_head_dim"), 8),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("rotary_dim", "qk_rope_head_dim", "qk_nope_head_dim"), 4),
    **dict.fromkeys(("attention_window", "sliding_window"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok"), 2),
    **dict.fromkeys(("n_group", "topk_group", "bos_token_id", "decoder_start_token_id"), 1),
    "eos_token_id": 2,
    "pad_token_id": 0,
}
"""What configurations call their sizes; each takes those that it has."""

LATENT: Final = {"head_dim": None, "num_key_value_heads": 4}

OWN: Final[dict[str, dict[str, Any]]] = {
    **dict.fromkeys(("bailing_hybrid", "deepseek_v3", "glm4_moe_lite", "minicpm3"), LATENT),
    "esm": {"vocab_size": 64, "mask_token_id": 3},
    "falcon": {"head_dim": None},
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1]},
    "glm_moe_dsa": LATENT,
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "hunyuan_v1_dense": {"head_dim": 8},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"]},
    "ministral": {"head_dim": 8},
    "prophetnet": {"num_hidden_layers": None},
    "xlnet": {"max_position_embeddings": None},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "youtu": LATENT,
}
"""What some types want otherwise; None: left as it is."""

IDS: Final = torch.tensor([[3, 7, 4, 9, 5, 8]])


def small(kind: str, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model of a type with random weights (seed 0), and what it is called with."""
    import transformers
    from transformers.models.auto import modeling_auto

    config = made_of(transformers.CONFIG_MAPPING[name], OWN.get(name, {}))
    table = {
        "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    }[kind]
    torch.manual_seed(0)
    model = getattr(transformers, table[name])(config).eval()
    both = {"input_ids": IDS, "decoder_input_ids": IDS[:, :4]}
    return model, both if kind == "seq2seq" else {"input_ids": IDS}


def made_of(kind: Any, own: dict[str, Any]) -> Any:
    """A configuration of a class, all its sizes small."""
    usual = kind()
    other = kind.attribute_map
    sizes = {
        name: size
        for name, size in SIZES.items()
        if getattr(usual, name, None) is not None or (name.endswith("_id") and hasattr(usual, name))
    }
    sizes = {name: size for name, size in sizes.items() if other.get(name) not in sizes}
    for name in ("layer_types", "mlp_layer_types"):
        if layers := getattr(usual, name, None):
            sizes[name] = [layers[0], layers[-1]]  # of kinds that take turns, two
    sizes |= own
    return kind(**{name: size for name, size in sizes.items() if size is not None})
