-- Forgets old events of a bucket. A late outcome stays as long as its record does: it may be all that
-- is known.
-- KEYS: histories, meta
-- ARGV: limit, history_keep_ms, starts of the keys of records, of histories, of late outcomes
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local histories, meta = unpack(KEYS)
local limit, keep_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local forgotten, read, read_max = 0, 0, 8388608

-- An event can only be read as a whole, a late outcome with its body.
local function at(list)
  local first = redis.call('LINDEX', list, 0)
  read = read + (first and #first or 0)
  return first and tonumber(string.sub(first, 37, 52))
end

local function forget(list, counter)
  local oldest = at(list)
  while oldest and oldest < ms - keep_ms and forgotten < limit and read < read_max do
    redis.call('LPOP', list)
    if counter then
      redis.call('HINCRBY', meta, counter, -1)
    end
    forgotten = forgotten + 1
    oldest = at(list)
  end
  return oldest
end

for _, digest in ipairs(redis.call('ZRANGEBYSCORE', histories, '-inf', ms - keep_ms, 'LIMIT', 0, limit)) do
  local oldest = forget(ARGV[4] .. digest, nil)
  local late = ARGV[5] .. digest
  local oldest_late
  if redis.call('EXISTS', ARGV[3] .. digest) == 1 then
    -- Looked at again when the record may be gone.
    oldest_late = at(late) and ms
  else
    oldest_late = forget(late, 'late')
  end
  local next = math.min(oldest or math.huge, oldest_late or math.huge)
  if next == math.huge then
    redis.call('ZREM', histories, digest)
  else
    redis.call('ZADD', histories, string.format('%016.0f', next), digest)
  end
  if forgotten >= limit or read >= read_max then
    break
  end
end
return {{us, 'forgotten', forgotten}}
