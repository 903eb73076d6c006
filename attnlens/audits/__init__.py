"""Audit any model: score its heads, and test which items the model's answers depend on."""

from attnlens.audits.ablate import ablate
from attnlens.audits.audit import audit
from attnlens.audits.head_table import heads

__all__ = ["ablate", "audit", "heads"]
