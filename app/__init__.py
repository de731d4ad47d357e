"""What is served: the gate over HTTP. Reads mart and journal by `answers`, never the pipeline."""
