-- Asked after the rows are locked: the time is not older than the wait, the fence not older than the row's.
SELECT {now}, nextval('{s}semel_fence')
