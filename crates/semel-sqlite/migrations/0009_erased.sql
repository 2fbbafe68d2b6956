-- When the contents of a message were erased; null as long as they are there. What is left tells a redelivery from another message.
ALTER TABLE semel_messages ADD COLUMN erased_ms INTEGER;
