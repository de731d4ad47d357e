"""What is read to answer: a site's places, its published mart and its journal, and the answers.

It lies apart from `pipelines` and `app` because both read the same numbers and neither may import
the other; it does I/O, so it is no part of `metrics`; and it writes nothing but the journal.
"""
