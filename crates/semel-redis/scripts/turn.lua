-- Hands out shares of the sweep, so that all processes together sweep each of them once per interval.
-- KEYS: shares, by when each is due
-- ARGV: how many shares there are, interval_ms, how long a share may take in ms; then what the caller has just swept, if
--       anything: its share, when it was taken, '1' if there is more to do
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local shares, count, interval_ms, lease_ms, swept, taken_ms, more = KEYS[1], unpack(ARGV)
if swept then
  redis.call('ZADD', shares, more == '1' and ms or taken_ms + interval_ms, swept)
end
if redis.call('ZCARD', shares) < tonumber(count) then
  for share = 0, count - 1 do
    redis.call('ZADD', shares, 'NX', ms, share)
  end
end
local first = redis.call('ZRANGE', shares, 0, 0, 'WITHSCORES')
local last = redis.call('ZREVRANGE', shares, 0, 0, 'WITHSCORES')
if tonumber(last[2]) > ms + math.max(interval_ms, lease_ms) then
  -- No process of this interval has said so: the clock was set back, or another process is in less of a hurry.
  first = {last[1], ms}
end
local wait_ms = tonumber(first[2]) - ms
if wait_ms > 0 then
  return {{us, 'wait', wait_ms}}
end
redis.call('ZADD', shares, ms + lease_ms, first[1])
return {{us, 'taken', first[1], ms}}
