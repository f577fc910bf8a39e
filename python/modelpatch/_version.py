"""The version of the package, and of the executable in its wheel; packaging/wheel.py writes both."""

VERSION = "0+source"
EXECUTABLE: "str | None" = None  # from a checkout, whatever executable is found
