"""An application over an election: groups share out work, and join what came of it."""
