-- Asks for the right to run, for items of one bucket. An absent operation is granted; of any other the record
-- is returned, and the caller decides by the protocol.
-- KEYS: meta, running, all; then per item: record
-- ARGV: '1' if replicas are waited for, unit of fences in microseconds; then per item: lease_ms, deadline_ms,
--       nonce, rest of the record
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local now = string.format('%016.0f', ms)
local found = redis.call('MGET', unpack(KEYS, 4))
local last
local replies, records, running, all = {}, {}, {}, {}
for item = 1, #found do
  local value = found[item]
  local arg = item * 4 - 1
  if value and string.sub(value, 77, 92) == ARGV[arg + 2] and string.sub(value, 2, 2) == 'r'
      and tonumber(string.sub(value, 19, 34)) > ms then
    -- The same claim, sent again because its answer was lost.
    if ARGV[1] == '1' then
      -- A write of this connection is what its WAIT waits for.
      redis.call('HSET', KEYS[1], 'asked', ARGV[arg + 2])
    end
    replies[item] = {us, 'granted', string.sub(value, 3, 18), string.sub(value, 19, 34), string.sub(value, 67, 76)}
  elseif value then
    replies[item] = {us, 'found', value}
  elseif ms > tonumber(ARGV[arg + 1]) then
    replies[item] = {us, 'too late'}
  else
    -- Above the last one, whatever the clock says.
    last = last or math.max(math.floor((us - 1767225600000000) / ARGV[2]) - 1,
      tonumber(redis.call('HGET', KEYS[1], 'fence') or 0))
    last = last + 1
    local fence = string.format('%016.0f', last)
    local lease_until = string.format('%016.0f', ms + ARGV[arg])
    local record, digest = KEYS[item + 3], string.sub(KEYS[item + 3], -32)
    local n = #records
    records[n + 1] = record
    records[n + 2] = '1r' .. fence .. lease_until .. now .. '00000000000000000000000001' .. ARGV[arg + 2] .. ARGV[arg + 3]
    running[n + 1], running[n + 2] = lease_until, digest
    all[n + 1], all[n + 2] = fence, digest
    replies[item] = {us, 'granted', fence, lease_until, '1'}
  end
end
if last then
  redis.call('HSET', KEYS[1], 'fence', string.format('%016.0f', last))
  redis.call('MSET', unpack(records))
  redis.call('ZADD', KEYS[2], unpack(running))
  redis.call('ZADD', KEYS[3], unpack(all))
end
return replies
