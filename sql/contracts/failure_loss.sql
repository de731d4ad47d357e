-- One failure loses at most one checkpoint interval: each restart after one.
select job, detected_us as at_us, kept, detail, interval_us from judged_losses where cause not in ('preemption', 'maintenance')
