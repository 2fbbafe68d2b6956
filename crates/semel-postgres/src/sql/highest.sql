-- The highest fence that was ever drawn.
SELECT last_value FROM {s}semel_fence
