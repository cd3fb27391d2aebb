"""The page at `/`: results of operations as HTML. It contains no logic and no state of its own."""
