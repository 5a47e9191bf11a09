"""Who the members are, where they are, and how that changes."""
