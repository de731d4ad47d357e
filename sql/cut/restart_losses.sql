-- Grain: as published, of hours that had ended. What was done in them and thrown back only later is
-- there, with the later restart that did it: the ledger has it as lost, and both must agree.
from published.restart_losses where hour_us < getvariable('until_us')
