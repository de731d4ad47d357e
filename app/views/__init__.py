"""What pages show, as plain data: read from the mart or from facts, summed up before it arrives."""
