"""Audits of any model: screen all heads, and test which items its predictions depend on."""

from attnlens.audits.ablate import ablate
from attnlens.audits.audit import audit
from attnlens.audits.head_table import heads

__all__ = ["ablate", "audit", "heads"]
