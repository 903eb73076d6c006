"""The dashboard, installed as ``attnlens.dashboard``. No page is in it yet."""
