-- Counts a bucket.
-- KEYS: running, unknown by since, expiring, archived, meta
-- ARGV: how many running records to look at for the oldest, start of the keys of records
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local running, unknown, expiring, archived, meta = unpack(KEYS)
local live = '(' .. string.format('%.0f', ms)
local ended = redis.call('ZCOUNT', running, '-inf', ms)
local oldest_unknown = redis.call('ZRANGE', unknown, 0, 0, 'WITHSCORES')[2] or ''
if ended > 0 then
  local first = redis.call('ZRANGE', running, 0, 0, 'WITHSCORES')[2]
  if oldest_unknown == '' or tonumber(first) < tonumber(oldest_unknown) then
    oldest_unknown = first
  end
end
local oldest_running = ''
for _, digest in ipairs(redis.call('ZRANGEBYSCORE', running, live, '+inf', 'LIMIT', 0, ARGV[1])) do
  local claimed = redis.call('GETRANGE', ARGV[2] .. digest, 34, 49)
  if claimed ~= '' and (oldest_running == '' or claimed < oldest_running) then
    oldest_running = claimed
  end
end
return {{us, 'stats',
  redis.call('ZCOUNT', running, live, '+inf'),
  ended + redis.call('ZCARD', unknown),
  redis.call('ZCARD', expiring),
  redis.call('ZCARD', archived),
  tonumber(redis.call('HGET', meta, 'late') or 0),
  oldest_running, oldest_unknown}}
