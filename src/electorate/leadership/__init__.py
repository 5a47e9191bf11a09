"""Leadership that an application can trust: nodes, elections, terms."""
