-- Grain: as published. The moment ends an hour, and a row lies in one hour: it is counted whole or not.
from published.ledger where hour_us < getvariable('until_us')
