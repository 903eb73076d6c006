"""What only looks like attention: routers, mixers, codebooks, gates, linear attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from hand_written import B, E, Form, K, N, Parts
from torch import Tensor

OTHERS: dict[str, Form] = {}


def other(form: Form) -> Form:
    OTHERS[form.__name__] = form
    return form


@other
def moe_soft(it: Parts, x: Tensor) -> Tensor:
    g = it.r(x).softmax(-1)
    return torch.einsum("bne,bned->bnd", g, torch.stack([e(x) for e in it.ex], 2))


@other
def moe_loop(it: Parts, x: Tensor) -> Tensor:
    g = it.r(x).softmax(-1)
    return sum(g[..., i : i + 1] * e(x) for i, e in enumerate(it.ex))


@other
def moe_top2(it: Parts, x: Tensor) -> Tensor:
    g = it.r(x).softmax(-1)
    v, i = g.topk(2, -1)
    o = torch.stack([e(x) for e in it.ex], 2)
    o = o.gather(2, i[..., None].expand(-1, -1, -1, E))
    return (v[..., None] * o).sum(2)


@other
def gshard(it: Parts, x: Tensor) -> Tensor:
    t = x.reshape(-1, E)
    g = it.r(t).softmax(-1)
    idx = g.argmax(-1)
    m = F.one_hot(idx, K).float()
    loc = ((m.cumsum(0) - 1) * m).sum(-1).long()
    c = F.one_hot(loc.clamp(max=5), 6).float()
    comb = (g * m).unsqueeze(-1) * c.unsqueeze(1)
    disp = (comb > 0).float()
    ei = torch.einsum("sec,sm->ecm", disp, t)
    eo = torch.stack([e(ei[i]) for i, e in enumerate(it.ex)])
    return torch.einsum("sec,ecm->sm", comb, eo)


@other
def expert_choice(it: Parts, x: Tensor) -> Tensor:
    t = x.reshape(-1, E)
    g = it.r(t).softmax(0).t()
    v, i = g.topk(3, -1)
    o = torch.stack([it.ex[j](t[i[j]]) * v[j][:, None] for j in range(K)])
    return torch.zeros_like(t).index_add_(0, i.reshape(-1), o.reshape(-1, E))


@other
def soft_moe(it: Parts, x: Tensor) -> Tensor:
    logits = x @ it.phi
    d = logits.softmax(1)
    c = logits.softmax(-1)
    sl = torch.einsum("bns,bnd->bsd", d, x)
    ys = torch.cat([it.ex[i](sl[:, 2 * i : 2 * i + 2]) for i in range(K)], 1)
    return torch.einsum("bns,bsd->bnd", c, ys)


@other
def gmlp(it: Parts, x: Tensor) -> Tensor:
    u, v = it.q(x).chunk(2, -1)
    return u * it.tm(v.mT).mT


@other
def lstm(it: Parts, x: Tensor) -> Tensor:
    h = c = torch.zeros(B, E)
    o = []
    for i in range(N):
        a, f, g, z = it.gates(torch.cat([x[:, i], h], -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(a) * torch.tanh(g)
        h = torch.sigmoid(z) * torch.tanh(c)
        o.append(h)
    return torch.stack(o, 1)


@other
def vq_soft(it: Parts, x: Tensor) -> Tensor:
    d = -torch.cdist(x.reshape(-1, E), it.cb)
    return (d.softmax(-1) @ it.cb).view(B, N, E)


@other
def vq_hard(it: Parts, x: Tensor) -> Tensor:
    i = torch.cdist(x.reshape(-1, E), it.cb).argmin(-1)
    return F.one_hot(i, 5).float() @ it.cb


@other
def gumbel(it: Parts, x: Tensor) -> Tensor:
    return F.gumbel_softmax(it.r(x), dim=-1) @ it.emb.weight


@other
def ema(it: Parts, x: Tensor) -> Tensor:
    t = x.reshape(-1, E)
    i = torch.cdist(t, it.cb).argmin(-1)
    o = F.one_hot(i, 5).float()
    return o.t() @ t / (o.sum(0)[:, None] + 1e-5)


@other
def kmeans(_: Parts, x: Tensor) -> Tensor:
    c = x[:, :3]
    for _ in range(2):
        a = (-torch.cdist(x, c)).softmax(-1)
        c = (a.mT @ x) / a.sum(1)[..., None]
    return c


@other
def netvlad(it: Parts, x: Tensor) -> Tensor:
    a = it.r(x).softmax(-1)
    v = torch.einsum("bnk,bnd->bkd", a, x)
    return v - a.sum(1)[..., None] * it.cb[:K]


@other
def memory_slots(it: Parts, x: Tensor) -> Tensor:
    return it.r(x).softmax(-1) @ it.cb[:K]


@other
def linattn(it: Parts, x: Tensor) -> Tensor:
    q, k, v = F.elu(it.q(x)) + 1, F.elu(it.k(x)) + 1, it.v(x)
    kv = k.mT @ v
    z = 1 / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
    return (q @ kv) * z


@other
def linattn_softmax(it: Parts, x: Tensor) -> Tensor:
    q, k, v = it.q(x).softmax(-1), it.k(x).softmax(1), it.v(x)
    return q @ (k.mT @ v)


@other
def fnet(_: Parts, x: Tensor) -> Tensor:
    return torch.fft.fft2(x).real


@other
def capsule(it: Parts, x: Tensor) -> Tensor:
    u = torch.stack([e(x) for e in it.ex], 2)
    b = torch.zeros(B, N, K)
    for _ in range(2):
        c = b.softmax(-1)
        v = (c[..., None] * u).sum(1)
        b = b + (u * v[:, None]).sum(-1)
    return v


@other
def condconv(it: Parts, x: Tensor) -> Tensor:
    g = it.r(x.mean(1)).softmax(-1)
    w = torch.einsum("bk,kij->bij", g, it.kern)
    return torch.bmm(x, w)


@other
def bilinear_pool(_: Parts, x: Tensor) -> Tensor:
    g = x.mT @ x / N
    g = g.sign() * g.abs().sqrt()
    return F.normalize(g.flatten(1))


@other
def gram_apply(_: Parts, x: Tensor) -> Tensor:
    return x @ (x.mT @ x)


@other
def whiten(_: Parts, x: Tensor) -> Tensor:
    c = x - x.mean(1, keepdim=True)
    S = c.mT @ c / N + torch.eye(E)
    L = torch.linalg.cholesky(S)
    return torch.linalg.solve_triangular(L, c.mT, upper=False).mT


@other
def gcn(it: Parts, x: Tensor) -> Tensor:
    a = torch.ones(N, N).tril()
    a = a / a.sum(-1, keepdim=True)
    return it.q(a @ x)


@other
def infonce(it: Parts, x: Tensor) -> Tensor:
    a, b = F.normalize(it.q(x.mean(1)), dim=-1), F.normalize(it.k(x.mean(1)), dim=-1)
    return F.cross_entropy(a @ b.t() / 0.1, torch.arange(B))


@other
def ot(it: Parts, x: Tensor) -> Tensor:
    C = torch.cdist(x, it.q(x))
    K_ = (-C).exp()
    for _ in range(3):
        K_ = K_ / K_.sum(-1, keepdim=True)
        K_ = K_ / K_.sum(-2, keepdim=True)
    return (K_ * C).sum((-1, -2))


@other
def trimul(it: Parts, x: Tensor) -> Tensor:
    z = it.q(x)[:, :, None] * it.k(x)[:, None]
    a = z.sigmoid()
    return torch.einsum("bikc,bjkc->bijc", a, z)


@other
def hyper(it: Parts, x: Tensor) -> Tensor:
    w = it.q(x.mean(1))[:, :, None] * it.k(x.mean(1))[:, None]
    return x @ w


@other
def elmo(it: Parts, x: Tensor) -> Tensor:
    w = it.w.softmax(0)
    h = torch.stack([e(x) for e in it.ex])
    return (w[:, None, None, None] * h).sum(0)


@other
def elmo_einsum(it: Parts, x: Tensor) -> Tensor:
    w = it.w.softmax(0)
    h = torch.stack([e(x) for e in it.ex])
    return torch.einsum("k,kbnd->bnd", w, h)


@other
def ssm_dense(it: Parts, x: Tensor) -> Tensor:
    i = torch.arange(N).float()
    A = (0.9 ** (i[:, None] - i)).tril()
    C, Bm, X = it.q(x), it.k(x), it.v(x)
    return ((C @ Bm.mT) * A) @ X


@other
def mos(it: Parts, x: Tensor) -> Tensor:
    p = it.r(x).softmax(-1)
    logits = torch.stack([e(x) for e in it.ex], 2).softmax(-1)
    return (p[..., None] * logits).sum(2)


@other
def spatial_softmax(it: Parts, x: Tensor) -> Tensor:
    p = it.q(x).softmax(1)
    pos = torch.linspace(-1, 1, N)
    return (p * pos[:, None]).sum(1)


@other
def experts_normalised(it: Parts, x: Tensor) -> Tensor:
    tokens = x.reshape(1, -1, E).expand(K, -1, -1)
    y = torch.bmm(tokens, it.kern).sum(0)
    return it.q(y / y.sum(-1, keepdim=True))
