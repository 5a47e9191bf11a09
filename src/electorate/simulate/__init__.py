"""The seeded driver: clusters that are stepped by hand, by script, or by chance."""
