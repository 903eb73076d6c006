"""The version, in a file that imports nothing."""

VERSION = "0.3.0"
