"""What is served: the gate over HTTP, and the pages of the Streamlit app.

It reads mart and journal by `answers`, never the pipeline: the two meet at the published file.
"""
