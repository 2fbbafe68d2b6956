-- Returns records of a bucket that run, or whose lease has ended and nobody has written that down.
-- KEYS: running
-- ARGV: first, last, start of the keys of records
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local reply = {us, 'running'}
for _, digest in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])) do
  reply[#reply + 1] = redis.call('GETRANGE', ARGV[3] .. digest, 0, 4095)
end
return {reply}
