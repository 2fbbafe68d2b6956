-- Late outcomes are counted for every scrape of the metrics. Whatever else leaves an event is not in this index, and costs
-- nothing because of it.
CREATE INDEX semel_history_late ON semel_history (id) WHERE event = 'late-outcome';
