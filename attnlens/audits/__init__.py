"""Audits of any model: all its heads screened, what they point at put to the test."""

from attnlens.audits.ablate import ablate
from attnlens.audits.audit import audit
from attnlens.audits.head_table import heads

__all__ = ["ablate", "audit", "heads"]
