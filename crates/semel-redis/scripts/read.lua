-- Returns the starts of records, with the length of the whole and the server's time. What is small is all there; the
-- rest of a large one is for a plain read, because whatever a script returns is copied by its interpreter.
-- KEYS per item: record
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local replies = {}
for item = 1, #KEYS do
  local value = redis.call('GETRANGE', KEYS[item], 0, 4095)
  replies[item] = {us, 'found', value ~= '' and value, #value < 4096 and #value or redis.call('STRLEN', KEYS[item])}
end
return replies
