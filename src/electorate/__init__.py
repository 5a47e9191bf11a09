"""electorate: leader election and coordination that can be embedded, watched and proved.

A protocol is a pure state machine in one Python file; drivers run that same file in a seeded
simulator and in an exhaustive checker.
"""

__version__ = "0.1.0"
