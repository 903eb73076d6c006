"""The version, in a file that imports nothing."""

VERSION = "0.2.0"
