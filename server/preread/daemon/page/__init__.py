"""The page at `/`: what the operations say, as HTML. It decides nothing and stores nothing."""
