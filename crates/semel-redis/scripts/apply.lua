-- Makes a change that the protocol decided on, if the record is still what it was decided on.
-- KEYS: record, meta, running, all, expiring, unknown by since, unknown by fence, history, late
--       outcomes, histories, archived, archive of this fence, token, audit
-- ARGV: expected start of the record ('' for none), '1' if its lease must be alive, deadline_ms ('' for none),
--       change, record after it, '1' if the record is to be archived first, score, token_ms,
--       unit of fences in microseconds, line of the audit ('' for none), the most lines of it;
--       then per event: its list, its fence ('' for the one that is drawn here), its time and content
local record, meta, running, all, expiring, unknown, unknown_by_fence, history, late, histories, archived, archive,
  token, audit = unpack(KEYS)
local expected, alive, deadline_ms, change, value, to_archive, score, token_ms, unit_us, line, lines_max =
  unpack(ARGV, 1, 11)
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local digest = string.sub(record, -32)

local done = redis.call('GET', token)
if done then
  -- The same change, sent again because its answer was lost.
  redis.call('PEXPIRE', token, token_ms)
  return {{us, 'done', done}}
end
local changed = change == 'erase-archived' and archive or record
local found = redis.call('GETRANGE', changed, 0, 33)
if found ~= expected or (alive == '1' and tonumber(string.sub(found, 19, 34)) <= ms) then
  return {{us, 'changed'}}
end
if deadline_ms ~= '' and ms > tonumber(deadline_ms) then
  return {{us, 'too late'}}
end

-- A server without memory refuses the first write of a script only: that one must be of the kind that it refuses.
local fence = ''
if change == 'grant' then
  local floor = tonumber(redis.call('HGET', meta, 'fence') or 0)
  fence = string.format('%016.0f', math.max(math.floor((us - 1767225600000000) / unit_us), floor + 1))
  redis.call('HSET', meta, 'fence', fence)
end
redis.call('SET', token, fence, 'PX', token_ms)

if line ~= '' then
  redis.call('RPUSH', audit, line)
  redis.call('LTRIM', audit, -lines_max, -1)
end

if change == 'erase' or change == 'erase-archived' then
  -- Contents in the history go: what is known of an unknown outcome, and all of a late one but verdict, status and length.
  for i, event in ipairs(redis.call('LRANGE', history, 0, -1)) do
    local note = string.sub(event, 53, 53) == 'u' and string.find(event, '\n', 54, true)
    if note then
      redis.call('LSET', history, i - 1, string.sub(event, 1, note - 1))
    end
  end
  for i = 0, redis.call('LLEN', late) - 1 do
    local event = redis.call('LINDEX', late, i)
    local head_len = struct.unpack('<I4', event, 55)
    local kind = string.byte(event, 69)
    local body_len = kind == 0 and struct.pack('<I8', #event - 58 - head_len) or string.sub(event, 70, 77)
    redis.call('LSET', late, i, string.sub(event, 1, 54) .. struct.pack('<I4', 19) .. string.sub(event, 59, 68)
      .. '\1' .. body_len)
  end
end

for event = 12, #ARGV, 3 do
  local list, of, content = ARGV[event], ARGV[event + 1], ARGV[event + 2]
  local key = list == 'late' and late or history
  local number = redis.call('HINCRBY', meta, 'events', 1)
  if of == '' then
    of = 'here' .. fence
  end
  local kept = redis.call('RPUSH', key, string.format('%016.0f', number) .. of .. content)
  redis.call('ZADD', histories, 'NX', string.sub(content, 1, 16), digest)
  if kept > 100 then
    redis.call('LTRIM', key, -100, -1)
  elseif list == 'late' then
    redis.call('HINCRBY', meta, 'late', 1)
  end
end

if change == 'grant' then
  if to_archive == '1' then
    redis.call('RENAME', record, archive)
    redis.call('PERSIST', archive)
    redis.call('ZADD', archived, string.sub(found, 3, 18), string.sub(found, 3, 18))
  end
  redis.call('SET', record, '1r' .. fence .. string.sub(value, 19))
  redis.call('ZREM', expiring, digest)
  redis.call('ZREM', unknown, digest)
  redis.call('ZREM', unknown_by_fence, digest)
  redis.call('ZADD', running, score, digest)
  redis.call('ZADD', all, fence, digest)
elseif change == 'extend' then
  redis.call('SET', record, value)
  redis.call('ZADD', running, score, digest)
elseif change == 'unknown' then
  redis.call('SET', record, value)
  redis.call('ZREM', running, digest)
  redis.call('ZADD', unknown, score, digest)
  redis.call('ZADD', unknown_by_fence, string.sub(value, 3, 18), digest)
elseif change == 'settle' then
  if to_archive == '1' then
    redis.call('SET', record, value)
  else
    redis.call('SET', record, value, 'PXAT', score)
  end
  redis.call('ZREM', running, digest)
  redis.call('ZREM', unknown, digest)
  redis.call('ZREM', unknown_by_fence, digest)
  redis.call('ZADD', expiring, score, digest)
elseif change == 'erase' then
  if to_archive == '1' then
    redis.call('SET', record, value)
  else
    redis.call('SET', record, value, 'PXAT', score)
  end
elseif change == 'erase-archived' then
  redis.call('SET', archive, value)
elseif change == 'remove' then
  redis.call('DEL', record)
  for _, index in ipairs({running, all, expiring, unknown, unknown_by_fence}) do
    redis.call('ZREM', index, digest)
  end
end
return {{us, 'done', fence}}
