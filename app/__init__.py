"""The Streamlit app: three people, each answered on one page. It reads; only the journal is written.

Apart from `pipelines`, which it never imports: the two meet at the published file.
"""
