"""Run it, and tell what happens.

python -m examples.shared_work           in the simulator, where time is virtual
python -m examples.shared_work --real    the same five nodes on TCP, in real time
"""

import argparse

from examples.shared_work.run import real, simulated
from examples.shared_work.story import story_of


def main() -> None:
    parser = argparse.ArgumentParser(description="Five nodes share out work.")
    parser.add_argument("--real", action="store_true", help="on TCP and in real time")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated network")
    options = parser.parse_args()
    for line in story_of(real() if options.real else simulated(options.seed)):
        print(line)


if __name__ == "__main__":
    main()
