-- Returns records as they are, with the server's time.
-- KEYS per item: record
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local replies = {}
for item = 1, #KEYS do
  replies[item] = {us, 'found', redis.call('GET', KEYS[item])}
end
return replies
