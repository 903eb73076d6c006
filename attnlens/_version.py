"""The version of attnlens, in a module that imports nothing."""

VERSION = "0.3.0"
