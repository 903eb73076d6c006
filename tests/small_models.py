"""Small untrained models of the libraries that are installed, and inputs for them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from attention_witness import Inputs
from torch import Tensor, nn

MOST_PARAMETERS = 60e6
TOKENS, SIDE, STEPS = 48, 32, 14
# What sizes are called in configurations, and how large they are here; the first that fits counts.
SIZES = (
    (r".*vocab_size.*", 99),
    (r".*(key_value|kv)_heads|num_query_groups|multi_query_group_num", 2),
    (r".*heads?", 4),
    (r".*(num|n)_(.*_)?(layers?|blocks)|.*_layers|depth|num_hidden_.*", 2),
    (r".*(intermediate|ffn|feedforward|d_ff|n_inner|mlp_dim).*", 96),
    (r".*(head_dim|d_kv|head_size)", 16),
    (r".*(hidden_size|d_model|n_embd|n_embed|embedding_size|projection_size|width|_?dim)", 64),
    (r"(n|max)_.*positions?.*|max_seq.*", 128),
    (r".*(image_size|img_size)", SIDE),
    (r".*patch_size", 8),
    (r"sliding_window|attention_window|attention_chunk_size", 8),
    (r"block_size", 4),
    (r".*experts_per_tok|.*top_?k|moe_k", 2),
    (r".*experts", 4),
    (r".*(_id|_index)", 3),
)
NEEDED = {"prediction_length": 7, "context_length": STEPS, "lags_sequence": [1, 2, 3]}
WIDE = ((r".*heads?", 2), (r".*head_dim", 128), (r".*hidden_size|d_model", 256), *SIZES)
LEFT = "", ".*head_dim", ".*(heads?|_dim|head_size)", ".*layers.*", ".*(size|dim|heads?)"
"""Sizes may have to fit each other: then one pattern of these after the other is left as it is."""
TOGETHER = (
    "* decoder_input_ids", "*", "* bbox", "input_ids pixel_values", "input_ids input_features",
    "input_ids input_values", "hidden_states grid_thw", "pixel_values grid_thw",
    "past_values past_time_features past_observed_mask", "pixel_values_videos",
    "bbox * pixel_values",
)  # fmt: skip
"""Inputs that go together; ``*`` is the one that a model calls its main input."""


def models(name: str) -> Iterator[tuple[nn.Module, list[Inputs]]]:
    """Models of a name, smallest first, and what each may take.

    Raises:
        Exception: of the library's: none could be made.
    """
    if name in OTHERS:
        model, inputs = OTHERS[name]()
        yield model, [inputs]
    else:
        yield from hugging_face(name)


def hugging_face_types() -> list[str]:
    """The types of transformers that have a model."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    transformers.logging.set_verbosity_error()
    return sorted(MODEL_MAPPING_NAMES)


def hugging_face(name: str) -> Iterator[tuple[nn.Module, list[Inputs]]]:
    """Models of a type of transformers, smallest first, and what each may take."""
    import transformers

    kind = transformers.CONFIG_MAPPING[name]
    for sizes, kept in [(SIZES, LEFT[0]), (WIDE, LEFT[0]), *((SIZES, kept) for kept in LEFT[1:])]:
        try:
            config = kind(**_small(kind, sizes, kept))
            config.use_cache = False
            model_kind = transformers.MODEL_MAPPING[kind]
            model_kind = model_kind[0] if isinstance(model_kind, tuple | list) else model_kind
            with torch.device("meta"):
                size = sum(weights.numel() for weights in model_kind(config).parameters())
            if size > MOST_PARAMETERS:
                raise ValueError(f"{size / 1e6:.0f} million parameters, made small as it is")
            model = model_kind(config)
        except Exception as error:
            problem = error
            continue
        yield model, list(_inputs(model))
    raise problem


def _small(kind: Any, sizes: Any, kept: str) -> dict[str, Any]:
    """Arguments of a configuration, sizes as they are told."""
    made: dict[str, Any] = {}
    whole = kind()
    for name, argument in inspect.signature(kind).parameters.items():
        value = argument.default
        if name in kind.sub_configs:
            part = getattr(whole, name, None)
            part = kind.sub_configs[name] if part is None or isinstance(part, dict) else type(part)
            if getattr(part, "model_type", ""):
                made[name] = _small(part, sizes, kept) | {"model_type": part.model_type}
        elif name in NEEDED:
            made[name] = NEEDED[name]
        elif type(value) is int and not re.fullmatch(kept, name):
            told = (size for pattern, size in sizes if re.fullmatch(pattern, name))
            made[name] = min(value, next(told, value))
    return made


def _inputs(model: Any) -> Iterator[Inputs]:
    """What a model of transformers may take, the likeliest first."""
    names = inspect.signature(model.forward).parameters
    held = json.dumps(model.config.to_dict(), default=str)

    def size(pattern: str, other: int) -> int:
        told = re.search(rf'"(?:{pattern})": (?:\[\s*)?(\d+)', held)
        return int(told[1]) if told else other

    side, colours = size("image_size|img_size", SIDE), size("num_channels|in_channels", 3)
    mel = size("num_mel_bins|feature_size|input_feat_per_channel|input_dim|feature_dim", 80)
    patch = colours * size("temporal_patch_size", 1) * size("patch_size", 8) ** 2
    frames, series = 2 * size("max_source_positions", 32), size("num_input_channels", 1)
    steps = STEPS + max(NEEDED["lags_sequence"]) if "past_time_features" in names else STEPS
    ids = torch.arange(TOKENS)[None] % 40 + 5
    image, video = (1, colours, side, side), (1, size("num_frames", 4), colours, side, side)
    values: dict[str, list[Tensor]] = {
        "input_ids": [ids],
        "decoder_input_ids": [ids[:, :7]],
        "pixel_values": [torch.randn(image), torch.randn(video), torch.randn(16, patch)],
        "pixel_values_videos": [torch.randn(video)],
        "hidden_states": [torch.randn(16, patch)],
        "grid_thw": [torch.tensor([[1, 4, 4]])],
        "input_features": [torch.randn(1, mel, frames), torch.randn(1, frames, mel)],
        "input_values": [
            torch.randn(shape) for shape in ((1, 4000), (1, 1, 4000), (1, frames, mel))
        ],
        "bbox": [torch.zeros(1, TOKENS, 4, dtype=torch.long)],
        "past_values": [torch.randn(1, steps, series), torch.randn(1, steps)],
        "past_time_features": [torch.zeros(1, steps, 0)],
        "past_observed_mask": [torch.ones(1, steps, series), torch.ones(1, steps)],
    }
    for together in TOGETHER:
        main = getattr(model, "main_input_name", "input_ids")
        told = together.replace("*", main).split()
        chosen = [name for name in told if name in names and name in values]
        for place in range(3):
            yield {name: values[name][min(place, len(values[name]) - 1)] for name in chosen}


def _of(name: str, inputs: Any, **sizes: Any) -> Callable[[], tuple[nn.Module, Inputs]]:
    """Makes what a library calls so, ``library:Name``; inputs by name, or one after the other."""

    def make() -> tuple[nn.Module, Inputs]:
        library, _, attribute = name.partition(":")
        given = inputs if isinstance(inputs, dict) else {"args": inputs}
        return getattr(importlib.import_module(library), attribute)(**sizes), given

    return make


TIMM = """
vit_tiny_patch16_224 deit_tiny_patch16_224 deit3_small_patch16_224 swin_tiny_patch4_window7_224
swinv2_tiny_window8_256 beit_base_patch16_224 beitv2_base_patch16_224 cait_xxs24_224 coat_lite_tiny
crossvit_tiny_240 xcit_nano_12_p16_224 twins_pcpvt_small twins_svt_small pit_ti_224 pvt_v2_b0
convit_tiny levit_128s mobilevit_xxs mobilevitv2_050 maxvit_tiny_rw_224 coatnet_0_rw_224
hiera_tiny_224 mvitv2_tiny nextvit_small edgenext_xx_small efficientformer_l1 efficientformerv2_s0
eva02_tiny_patch14_224 davit_tiny gcvit_xxtiny tnt_s_patch16_224 visformer_tiny volo_d1_224
nest_tiny focalnet_tiny_srf efficientvit_b0 efficientvit_m0 fastvit_t8 repvit_m0_9 tiny_vit_5m_224
vitamin_small_224 sequencer2d_s mixer_s32_224 gmlp_ti16_224 resmlp_12_224 lambda_resnet26t
halonet26t botnet26t_256 bat_resnext26ts poolformer_s12 caformer_s18 convformer_s18
samvit_base_patch16_224 swiftformer_xs rdnet_tiny starnet_s1
"""


class _Any:
    """Stands for whatever timm's loaders of pictures import from torchvision."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class _AnyType(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _Absent(types.ModuleType):
    __path__ = ()  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnyType(name, (_Any,), {})


def _timm(name: str) -> Callable[[], tuple[nn.Module, Inputs]]:
    """Makes a model of timm; its models need no torchvision, though its loaders import it."""

    def make() -> tuple[nn.Module, Inputs]:
        if importlib.util.find_spec("torchvision") is None:
            parts = "", ".transforms", ".transforms.functional", ".ops", ".ops.misc", ".models"
            parts += ".models.feature_extraction", ".datasets", ".datasets.folder"
            for part in parts:
                module = sys.modules[f"torchvision{part}"] = _Absent(f"torchvision{part}")
                around, _, last = module.__name__.rpartition(".")
                if around:
                    setattr(sys.modules[around], last, module)
        model = importlib.import_module("timm").create_model(name, num_classes=3)
        return model, {"args": (torch.randn(1, *model.default_cfg["input_size"]),)}

    return make


def _x_transformer(**options: Any) -> Callable[[], tuple[nn.Module, Inputs]]:
    def make() -> tuple[nn.Module, Inputs]:
        layers = _of("x_transformers:Decoder", (), dim=64, depth=2, heads=4, **options)()[0]
        sizes = {"num_tokens": 99, "max_seq_len": 64, "attn_layers": layers}
        return _of("x_transformers:TransformerWrapper", (_IDS,), **sizes)()

    return make


_IDS, _X, _ONE = torch.arange(TOKENS)[None], torch.randn(2, TOKENS, 64), torch.tensor([3])
_LAYER = {"d_model": 64, "nhead": 4, "dim_feedforward": 96, "batch_first": True}
_HEADS = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 2}
_TEXT = {"timestep": _ONE, "encoder_hidden_states": torch.randn(1, 7, 32)}
_LATENT = {"hidden_states": torch.randn(1, 4, 8, 8), **_TEXT}
_BLOCKS = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8}
_FLUX = {"img_ids": torch.zeros(16, 3), "txt_ids": torch.zeros(7, 3)}
_PICTURE = (torch.randn(1, 3, 224, 224),)
OTHERS: dict[str, Callable[[], tuple[nn.Module, Inputs]]] = {
    "torch: nn.MultiheadAttention": _of(
        "torch.nn:MultiheadAttention", (_X, _X, _X), embed_dim=64, num_heads=4, batch_first=True
    ),
    "torch: nn.TransformerEncoder": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(**_LAYER), 2), {"args": (_X,)}
    ),
    "torch: nn.TransformerDecoder": lambda: (
        nn.TransformerDecoder(nn.TransformerDecoderLayer(**_LAYER), 2), {"args": (_X[:, :7], _X)}
    ),
    "torch: nn.Transformer": _of(
        "torch.nn:Transformer", (_X, _X[:, :7]),
        num_encoder_layers=2, num_decoder_layers=2, **_LAYER,
    ),
    "x_transformers: Decoder": _x_transformer(),
    "x_transformers: Decoder, attn_flash": _x_transformer(attn_flash=True),
    "x_transformers: Decoder, alibi_pos_bias": _x_transformer(alibi_pos_bias=True),
    "x_transformers: Decoder, attn_kv_heads": _x_transformer(rotary_pos_emb=True, attn_kv_heads=2),
    "x_transformers: Decoder, attn_num_mem_kv": _x_transformer(attn_num_mem_kv=3),
    "diffusers: DiTTransformer2DModel": _of(
        "diffusers:DiTTransformer2DModel",
        {"hidden_states": _LATENT["hidden_states"], "timestep": _ONE, "class_labels": _ONE},
        in_channels=4, sample_size=8, num_embeds_ada_norm=100, **_HEADS,
    ),
    "diffusers: UNet2DConditionModel": _of(
        "diffusers:UNet2DConditionModel", {"sample": torch.randn(1, 4, 16, 16), **_TEXT},
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        sample_size=16, cross_attention_dim=32, attention_head_dim=8, **_BLOCKS,
    ),
    "diffusers: AutoencoderKL": _of(
        "diffusers:AutoencoderKL", (torch.randn(1, 3, 16, 16),), norm_num_groups=8
    ),
    "diffusers: PixArtTransformer2DModel": _of(
        "diffusers:PixArtTransformer2DModel", _LATENT | {"added_cond_kwargs": {}},
        in_channels=4, sample_size=8, cross_attention_dim=64, caption_channels=32, **_HEADS,
    ),
    "diffusers: SD3Transformer2DModel": _of(
        "diffusers:SD3Transformer2DModel", _LATENT | {"pooled_projections": torch.randn(1, 64)},
        sample_size=8, in_channels=4, out_channels=4, joint_attention_dim=32,
        caption_projection_dim=64, pooled_projection_dim=64, **_HEADS,
    ),
    "diffusers: FluxTransformer2DModel": _of(
        "diffusers:FluxTransformer2DModel",
        {"hidden_states": torch.randn(1, 16, 4), "pooled_projections": torch.randn(1, 32)}
        | _TEXT | _FLUX,
        in_channels=4, num_single_layers=1, joint_attention_dim=32, pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8), **_HEADS,
    ),
    **{f"timm: {name}": _timm(name) for name in TIMM.split()},
    "torchvision: vit_b_32": _of("torchvision.models:vit_b_32", _PICTURE),
    "open_clip: ViT-B-32": _of("open_clip:create_model", _PICTURE, model_name="ViT-B-32"),
}  # fmt: skip
"""Models of other libraries, by ``library: name``."""
