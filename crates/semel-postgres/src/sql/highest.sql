-- No granted fence exceeds this: what was drawn here, and what a server that was lost may have drawn by its time.
SELECT greatest(last_value, {now} * 1000) FROM {s}semel_fence
