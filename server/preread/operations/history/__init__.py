"""How facts came about and changed, and which ones a change of the code touches."""
