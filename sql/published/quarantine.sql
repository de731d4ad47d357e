-- Grain: a record that was not stored, with where it stood and why.
select f.path, q.line, q.reason, q.raw from quarantine q join files f using (file_id)
order by f.path, q.line, q.reason
