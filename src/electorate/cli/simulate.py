"""stub"""

NAME = "simulate"
SUMMARY = ""
EXAMPLES = ""


def add_arguments(p):
    pass


def run(o):
    return 0
