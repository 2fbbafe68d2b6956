-- Returns records of a bucket whose lease has ended.
-- KEYS: running
-- ARGV: limit, start of the keys of records
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local reply = {us, 'ended'}
for _, digest in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ms, 'LIMIT', 0, ARGV[1])) do
  local value = redis.call('GETRANGE', ARGV[2] .. digest, 0, 4095)
  if string.sub(value, 2, 2) == 'r' then
    reply[#reply + 1] = value
  else
    -- Nothing that runs: the index says too much.
    redis.call('ZREM', KEYS[1], digest)
  end
end
return {reply}
