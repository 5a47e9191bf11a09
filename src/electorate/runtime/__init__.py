"""The network driver: one node as a process on TCP, with a durable store and failure detectors."""
