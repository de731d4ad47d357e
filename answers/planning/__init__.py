"""How often to save a checkpoint and which to keep: from measurements to advice in words."""
