-- Asked after the rows are locked: the time is not older than the wait, the fence not older than the row's, $1.
SELECT {now}, greatest({fence}, $1::bigint + 1)
