"""Charts: one module a kind. Each builds its Altair template once a theme, and fills in data."""
