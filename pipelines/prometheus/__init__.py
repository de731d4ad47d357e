"""What Prometheus knows of the cluster: node states as events, other numbers as samples.

`asking` speaks with the server, `cleaning` tells numbers from what only looks like one,
`node_states` makes events of them, `pulling` goes on chunk by chunk from where it last stopped.

Everything is read on a grid of whole steps, so a state's change is known to within one step. A
series says nothing at a moment where Prometheus has no sample of it: after a stale marker at once,
after a missed scrape only once its lookback (5 minutes by default) is over. Both are gaps here.
"""
