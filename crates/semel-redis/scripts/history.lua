-- Returns the events of one operation.
-- KEYS: history, late outcomes
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
return {{us, 'history', redis.call('LRANGE', KEYS[1], 0, -1), redis.call('LRANGE', KEYS[2], 0, -1)}}
