"""Attention as people write it by hand.

A form is a function of a `Parts` module and its input ``(batch, position, width)``. It shows the
weights that multiply its values to `Parts.weigh`, with the letters of their axes (b, h, q, k).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

B, N, H, D = 2, 7, 4, 4
E = H * D
K = 4

Form = Callable[["Parts", Tensor], Tensor]


class Parts(nn.Module):
    """A module with the layers that forms need."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.form = form
        self.weights: list[Tensor] | None = None
        for name in ("q", "k", "v", "o"):
            self.add_module(name, nn.Linear(E, E))
        self.lq, self.g, self.r = nn.Linear(E, N), nn.Linear(E, 1), nn.Linear(E, K)
        self.proj, self.tm = nn.Linear(N, 3), nn.Linear(N, N)
        self.gru, self.gates = nn.GRUCell(E, E), nn.Linear(2 * E, 4 * E)
        self.ex = nn.ModuleList([nn.Linear(E, E) for _ in range(K)])
        self.emb = nn.Embedding(K, E)
        for name, shape in (
            ("mix", (H, H)), ("p", (3, E)), ("mem", (5, E)), ("rel", (N, N, D)), ("cb", (5, E)),
            ("phi", (E, 2 * K)), ("w", (K,)), ("kern", (K, E, E)), ("lam", ()),
        ):  # fmt: skip
            self.register_parameter(name, nn.Parameter(torch.randn(shape)))

    def weigh(self, weights: Tensor, letters: str) -> None:
        """Show the weights of a product, whose axes have these letters."""
        if self.weights is None:
            return
        shown = weights.detach().clone()
        shown = shown.permute([letters.index(letter) for letter in "bhqk" if letter in letters])
        for place, letter in enumerate("bhqk"):
            if letter not in letters:
                shown = shown.unsqueeze(place)
        self.weights.append(shown)

    def sp(self, x: Tensor) -> list[Tensor]:
        """Queries, keys and values, ``(batch, head, position, d)``."""
        b, n, _ = x.shape
        return [layer(x).view(b, n, H, D).transpose(1, 2) for layer in (self.q, self.k, self.v)]

    def jn(self, o: Tensor) -> Tensor:
        """Heads joined and projected."""
        return self.o(o.transpose(1, 2).reshape(o.shape[0], -1, E))

    def mixed(self, w: Tensor, v: Tensor, letters: str) -> Tensor:
        """The weights' product with values, shown."""
        self.weigh(w, letters)
        return w @ v

    def weighed(self, w: Tensor, v: Tensor) -> Tensor:
        """The same of weights ``(batch, head, query, key)``, the heads joined."""
        return self.jn(self.mixed(w, v, "bhqk"))

    def forward(self, x: Tensor) -> Tensor:
        return self.form(self, x)


ATTENTION: dict[str, Form] = {}


def attention(form: Form) -> Form:
    ATTENTION[form.__name__] = form
    return form


def scored(form: Callable[[Parts, Tensor], Tensor], name: str = "") -> Form:
    """A form whose weights are made of the scores ``(batch, head, query, key)``."""

    def attend(it: Parts, x: Tensor) -> Tensor:
        q, k, v = it.sp(x)
        return it.weighed(form(it, q @ k.mT), v)

    ATTENTION[name or form.__name__] = attend
    return attend


def compared(form: Callable[[Parts, Tensor, Tensor], Tensor]) -> Form:
    """A form whose weights are made of queries and keys."""

    def attend(it: Parts, x: Tensor) -> Tensor:
        q, k, v = it.sp(x)
        return it.weighed(form(it, q, k), v)

    ATTENTION[form.__name__] = attend
    return attend


SCORED: dict[str, Callable[[Parts, Tensor], Tensor]] = {
    "plain": lambda _, scores: scores.softmax(-1),
    "gate": lambda it, scores: scores.softmax(-1) * torch.sigmoid(it.mix[0])[None, :, None, None],
    "hard_onehot": lambda _, scores: F.one_hot(scores.argmax(-1), N).float(),
    "relu2": lambda _, scores: F.relu(scores) ** 2 / N,
    "sigmoid": lambda _, scores: torch.sigmoid(scores - 2),
    "log": lambda _, scores: F.log_softmax(scores, -1).exp(),
    "lse": lambda _, scores: torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)),
    "uniform_mix": lambda _, scores: 0.9 * scores.softmax(-1) + 0.1 / N,
    "convolved_heads": lambda it, scores: F.conv2d(scores.softmax(-1), it.mix[:, :, None, None]),
}
for name, weighing in SCORED.items():
    scored(weighing, name)


@scored
def topk(_: Parts, scores: Tensor) -> Tensor:
    t = scores.topk(3, -1).values[..., -1:]
    return scores.masked_fill(scores < t, -1e9).softmax(-1)


@scored
def talking(it: Parts, scores: Tensor) -> Tensor:
    mixed = torch.einsum("bhqk,hg->bgqk", scores, it.mix)
    return torch.einsum("bhqk,hg->bgqk", mixed.softmax(-1), it.mix)


@scored
def straight(_: Parts, scores: Tensor) -> Tensor:
    y = scores.softmax(-1)
    h = torch.zeros_like(y).scatter_(-1, y.argmax(-1, keepdim=True), 1.0)
    return h - y.detach() + y


@scored
def sparsemax(_: Parts, scores: Tensor) -> Tensor:
    z, _ = scores.sort(-1, descending=True)
    c = z.cumsum(-1) - 1
    sup = (torch.arange(1, N + 1) * z > c).sum(-1, keepdim=True)
    return (scores - c.gather(-1, sup - 1) / sup).clamp(min=0)


@scored
def divided(_: Parts, scores: Tensor) -> Tensor:
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@scored
def exp2(_: Parts, scores: Tensor) -> Tensor:
    e = torch.exp2(scores)
    return e / e.sum(-1, keepdim=True)


@scored
def relunorm(_: Parts, scores: Tensor) -> Tensor:
    e = F.relu(scores)
    return e / (e.sum(-1, keepdim=True) + 1e-6)


@scored
def softplus(_: Parts, scores: Tensor) -> Tensor:
    e = F.softplus(scores)
    return e * (1 / e.sum(-1, keepdim=True))


@scored
def sink(it: Parts, scores: Tensor) -> Tensor:
    column = it.mix[0].view(1, H, 1, 1).expand(B, H, N, 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1]


@scored
def sinkhorn(_: Parts, scores: Tensor) -> Tensor:
    w = scores.exp()
    for _ in range(3):
        w = w / w.sum(-1, keepdim=True)
        w = w / w.sum(-2, keepdim=True)
    return w


@scored
def rollout(_: Parts, scores: Tensor) -> Tensor:
    a = scores.softmax(-1)
    return a @ a


@scored
def retention(_: Parts, scores: Tensor) -> Tensor:
    i = torch.arange(N).float()
    return scores * (0.9 ** (i[:, None] - i)).tril()


@scored
def written_over(_: Parts, scores: Tensor) -> Tensor:
    w = scores.softmax(-1)
    w[:, :, :, 0] = 0
    return w


@compared
def diff(it: Parts, q: Tensor, k: Tensor) -> Tensor:
    a = (q[..., :2] @ k[..., :2].mT).softmax(-1)
    b = (q[..., 2:] @ k[..., 2:].mT).softmax(-1)
    return a - it.lam * b


@compared
def cosine(_: Parts, q: Tensor, k: Tensor) -> Tensor:
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT


@compared
def l2(_: Parts, q: Tensor, k: Tensor) -> Tensor:
    return (-(q[:, :, :, None] - k[:, :, None]).pow(2).sum(-1)).softmax(-1)


@compared
def cdist(_: Parts, q: Tensor, k: Tensor) -> Tensor:
    return (-torch.cdist(q, k)).softmax(-1)


@attention
def topk_after(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = (q @ k.mT).softmax(-1)
    val, ix = w.topk(3, -1)
    w2 = torch.zeros_like(w).scatter(-1, ix, val)
    w2 = w2 / w2.sum(-1, keepdim=True)
    return it.weighed(w2, v)


@attention
def kcat(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    m = it.mem.view(5, H, D).transpose(0, 1)[None].expand(B, -1, -1, -1)
    k = torch.cat([m, k], 2)
    v = torch.cat([m, v], 2)
    return it.weighed((q @ k.mT).softmax(-1), v)


@attention
def zeros_attn(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    k = F.pad(k, (0, 0, 0, 1))
    v = F.pad(v, (0, 0, 0, 1))
    return it.weighed((q @ k.mT).softmax(-1), v)


@attention
def bahdanau(it: Parts, x: Tensor) -> Tensor:
    w = torch.tanh(it.q(x)[:, :, None] + it.k(x)[:, None])
    w = it.g(w)[..., 0].softmax(-1)
    return it.mixed(w, x, "bqk")


@attention
def gru_loop(it: Parts, x: Tensor) -> Tensor:
    h = x.mean(1)
    out = []
    for _ in range(3):
        w = it.g(torch.tanh(it.q(h)[:, None] + it.k(x)))[..., 0].softmax(-1)
        it.weigh(w, "bk")
        c = torch.bmm(w.unsqueeze(1), x).squeeze(1)
        h = it.gru(c, h)
        out.append(h)
    return torch.stack(out, 1)


@attention
def perceiver(it: Parts, x: Tensor) -> Tensor:
    q = it.q(it.p).view(3, H, D).transpose(0, 1)[None].expand(B, -1, -1, -1)
    _, k, v = it.sp(x)
    return it.weighed((q @ k.mT).softmax(-1), v)


@attention
def mqa(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    k, v = k[:, 0], v[:, 0]
    w = torch.einsum("bhqd,bkd->bhqk", q, k).softmax(-1)
    it.weigh(w, "bhqk")
    return it.jn(torch.einsum("bhqk,bkd->bhqd", w, v))


@attention
def gqa(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    k, v = k[:, :2], v[:, :2]
    q = q.reshape(B, 2, 2, N, D)
    w = torch.einsum("bgrqd,bgkd->bgrqk", q, k).softmax(-1)
    it.weigh(w.flatten(1, 2), "bhqk")
    return it.jn(torch.einsum("bgrqk,bgkd->bgrqd", w, v).flatten(1, 2))


@attention
def gqa_exp(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    k, v = (t[:, :2, None].expand(B, 2, 2, N, D).reshape(B, 4, N, D) for t in (k, v))
    return it.weighed((q @ k.mT).softmax(-1), v)


@attention
def per_head_loop(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    o = []
    for h in range(H):
        w = (q[:, h] @ k[:, h].mT).softmax(-1)
        it.weigh(w, "bqk")
        o.append(w @ v[:, h])
    return it.jn(torch.stack(o, 1))


@attention
def per_query_loop(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    o = []
    for i in range(N):
        w = (q[:, :, i : i + 1] @ k.mT).softmax(-1)
        it.weigh(w, "bhqk")
        o.append(w @ v)
    return it.jn(torch.cat(o, 2))


@attention
def rope(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    f = torch.outer(torch.arange(N).float(), torch.tensor([1.0, 0.1]))
    c = torch.polar(torch.ones_like(f), f)

    def r(t: Tensor) -> Tensor:
        pairs = torch.view_as_complex(t.reshape(*t.shape[:-1], 2, 2))
        return torch.view_as_real(pairs * c).flatten(-2)

    return it.weighed((r(q) @ r(k).mT).softmax(-1), v)


@attention
def shaw(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    logits = q @ k.mT + torch.einsum("bhqd,qkd->bhqk", q, it.rel)
    w = logits.softmax(-1)
    it.weigh(w, "bhqk")
    return it.jn(w @ v + torch.einsum("bhqk,qkd->bhqd", w, it.rel))


@attention
def tsum(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = (q @ k.mT).softmax(-1)
    it.weigh(w, "bhqk")
    return it.jn((v.mT @ w.mT).mT)


@attention
def axis2(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = (k @ q.mT).softmax(-2)
    it.weigh(w.mT, "bhqk")
    return it.jn(w.mT @ v)


@attention
def qbhk(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = torch.einsum("bhqd,bhkd->qbhk", q, k).softmax(-1)
    it.weigh(w, "qbhk")
    return it.jn(torch.einsum("qbhk,bhkd->bhqd", w, v))


@attention
def flinear(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x[:1])
    w = (q[0, 0] @ k[0, 0].mT).softmax(-1)
    it.weigh(w, "qk")
    return F.linear(w, v[0, 0].mT)


@attention
def baddbmm(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (t.reshape(B * H, N, D) for t in it.sp(x))
    w = torch.baddbmm(torch.zeros(1, N, N), q, k.mT, alpha=0.5).softmax(-1)
    it.weigh(w.view(B, H, N, N), "bhqk")
    return it.jn(torch.bmm(w, v).view(B, H, N, D))


@attention
def synth_dense(it: Parts, x: Tensor) -> Tensor:
    w = it.lq(F.relu(it.q(x))).softmax(-1)
    return it.mixed(w, it.v(x), "bqk")


@attention
def slot(it: Parts, x: Tensor) -> Tensor:
    q = it.q(it.p)[None].expand(B, -1, -1) + x.mean(1, keepdim=True)
    a = (it.k(x) @ q.mT).softmax(-1) + 1e-8
    w = (a / a.sum(1, keepdim=True)).mT
    return it.mixed(w, it.v(x), "bqk")


@attention
def xca(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (t.mT for t in it.sp(x))
    w = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT).softmax(-1)
    it.weigh(w, "bhqk")
    return it.o((w @ v).permute(0, 3, 1, 2).reshape(B, N, E))


@attention
def linformer(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    k = it.proj(k.mT).mT
    v = it.proj(v.mT).mT
    return it.weighed((q @ k.mT).softmax(-1), v)


@attention
def gather_topk(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    logits = q @ k.mT
    t, ix = logits.topk(3, -1)
    w = t.softmax(-1)
    it.weigh(w, "bhqk")
    vv = v[:, :, None].expand(B, H, N, N, D).gather(3, ix[..., None].expand(-1, -1, -1, -1, D))
    return it.jn((w[..., None] * vv).sum(3))


@attention
def window(it: Parts, x: Tensor) -> Tensor:
    x = x[:, :6]
    q, k, v = (f(x).view(B, 2, 3, H, D).permute(0, 1, 3, 2, 4) for f in (it.q, it.k, it.v))
    w = (q @ k.mT).softmax(-1)
    it.weigh(w.reshape(B * 2, H, 3, 3), "bhqk")
    return w @ v


@attention
def vmapped(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    return it.jn(torch.vmap(lambda a, b, c: (a @ b.mT).softmax(-1) @ c, 1, 1)(q, k, v))


@attention
def ckpt(it: Parts, x: Tensor) -> Tensor:
    return torch.utils.checkpoint.checkpoint(
        lambda y: ATTENTION["plain"](it, y), x, use_reentrant=False
    )


@attention
def cachelist(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    ks, vs, o = [], [], []
    for i in range(3):
        ks.append(k[:, :, i : i + 1])
        vs.append(v[:, :, i : i + 1])
        K = torch.cat(ks, 2)
        V = torch.cat(vs, 2)
        w = (q[:, :, i : i + 1] @ K.mT).softmax(-1)
        it.weigh(w, "bhqk")
        o.append(w @ V)
    return it.jn(torch.cat(o, 2))


@attention
def half(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = (q @ k.mT).softmax(-1).bfloat16()
    it.weigh(w, "bhqk")
    return it.jn((w @ v.bfloat16()).float())


@attention
def headmean(it: Parts, x: Tensor) -> Tensor:
    q, k, _ = it.sp(x)
    w = (q @ k.mT).softmax(-1).mean(1)
    return it.mixed(w, it.v(x), "bqk")


@attention
def two(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    a = (q @ k.mT).softmax(-1)
    it.weigh(a, "bhqk")
    y = it.jn(a @ v) + x
    return ATTENTION["plain"](it, y)


@attention
def pooled(it: Parts, x: Tensor) -> Tensor:
    w = it.g(torch.tanh(it.q(x))).softmax(1)
    it.weigh(w[..., 0], "bk")
    return (w * x).sum(1)


@attention
def mv(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x[:1])
    w = (k[0, 0] @ q[0, 0, 0]).softmax(-1)
    it.weigh(w, "k")
    return torch.mv(v[0, 0].mT, w)


@attention
def edge(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = (q @ k.mT).softmax(-1)
    it.weigh(w, "bhqk")
    vv = v[:, :, None] + q[:, :, :, None]
    return it.jn((w[..., None] * vv).sum(3))


@attention
def unbatched(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (t[0] for t in it.sp(x))
    w = (q @ k.mT).softmax(-1)
    return it.mixed(w, v, "hqk")


@attention
def hfirst(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (t.transpose(0, 1) for t in it.sp(x))
    w = (q @ k.mT).softmax(-1)
    return it.mixed(w, v, "hbqk")


@attention
def idxkeys(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    ix = torch.tensor([0, 2, 5])
    w = (q @ k.mT).softmax(-1).index_select(-1, ix)
    it.weigh(w, "bhqk")
    return it.jn(w @ v.index_select(2, ix))


@attention
def autoc(it: Parts, x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        q, k, v = it.sp(x)
        w = (q @ k.mT).softmax(-1)
        it.weigh(w.bfloat16(), "bhqk")
        return it.jn(w @ v)


@attention
def kern(it: Parts, x: Tensor) -> Tensor:
    h = x
    w = torch.exp(-(torch.cdist(h, h) ** 2))
    w = w / w.sum(-1, keepdim=True)
    return it.mixed(w, h, "bqk")


@attention
def unfoldw(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    kk, vv = (F.pad(t, (0, 0, 1, 1)).unfold(2, 3, 1) for t in (k, v))
    w = torch.einsum("bhqd,bhqdk->bhqk", q, kk).softmax(-1)
    it.weigh(w, "bhqk")
    return it.jn(torch.einsum("bhqk,bhqdk->bhqd", w, vv))


@attention
def assembled(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    w = torch.zeros(B, H, N, N)
    w[..., :4] = (q @ k[:, :, :4].mT).softmax(-1)
    return it.weighed(w, v)


@attention
def into_buffers(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    q, k, v = (part.flatten(0, 1).detach() for part in (q, k, v))
    w, o = torch.empty(B * H, N, N), torch.empty(B * H, N, D)
    torch.bmm(q, k.mT, out=w)
    torch.exp(w, out=w)
    torch.div(w, w.sum(2, keepdim=True), out=w)
    it.weigh(w.view(B, H, N, N), "bhqk")
    torch.bmm(w, v, out=o)
    w.zero_()
    return it.jn(o.view(B, H, N, D))


@attention
def nystrom(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.sp(x)
    ql, kl = (part[:, :, :6].reshape(B, H, 2, 3, D).mean(3) for part in (q, k))
    first, middle, last = ((a @ b.mT).softmax(-1) for a, b in ((q, kl), (ql, kl), (ql, k)))
    inverse = middle.mT / (middle.sum(-1).max() * middle.sum(-2).max())
    for _ in range(3):
        product = middle @ inverse
        inverse = 0.25 * inverse @ (13 * torch.eye(2) - product @ (7 * torch.eye(2) - product))
    return it.weighed((first @ inverse) @ last, v)


@attention
def learnt_by_heads(it: Parts, x: Tensor) -> Tensor:
    v = it.v(x).view(B, N, H, D).transpose(1, 2)
    w = (it.rel[..., :H].permute(2, 0, 1) * 3).softmax(-1)
    it.weigh(w.expand(B, H, N, N), "bhqk")
    return it.jn(w @ v)


@attention
def mapped_over_heads(it: Parts, x: Tensor) -> Tensor:
    parts = [layer.weight.view(H, D, E) for layer in (it.q, it.k, it.v)]

    def head(x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor) -> Tensor:
        return (x @ wq.mT @ (x @ wk.mT).mT).softmax(-1) @ (x @ wv.mT)

    if it.weights is not None:
        q, k = (torch.einsum("bne,hde->bhnd", x, part) for part in parts[:2])
        it.weigh((q @ k.mT).softmax(-1), "bhqk")
    return it.jn(torch.func.vmap(head, in_dims=(None, 0, 0, 0), out_dims=1)(x, *parts))


@attention
def in_place(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (part.flatten(0, 1).detach() for part in it.sp(x))
    w = torch.zeros(B * H, N, N).baddbmm_(q, k.mT)
    w.sub_(w.amax(2, keepdim=True)).exp_()
    w.div_(w.sum(2, keepdim=True))
    it.weigh(w.view(B, H, N, N), "bhqk")
    return it.jn((w @ v).view(B, H, N, D))


@attention
def softmax_into(it: Parts, x: Tensor) -> Tensor:
    q, k, v = (part.detach() for part in it.sp(x))
    w = torch.empty(B, H, N, N)
    torch.softmax(q @ k.mT, -1, out=w)
    return it.weighed(w, v)
