-- A preemption loses at most one checkpoint interval: each restart after a preemption.
select job, detected_us as at_us, kept, detail, interval_us from judged_losses where cause = 'preemption'
