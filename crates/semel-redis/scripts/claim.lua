-- Asks for the right to run, for items of one bucket. An absent operation is granted; of any other the start of its
-- record is returned, with the length of the whole, and the caller decides by the protocol. A server that takes no writes refuses the first one of a script:
-- what would have been granted is refused, and what was only read is answered all the same.
-- KEYS: meta, running, all; then per item: record
-- ARGV: '1' if replicas are waited for, unit of fences in microseconds; then per item: lease_ms, deadline_ms,
--       nonce, rest of the record
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local now = string.format('%016.0f', ms)
-- Most are new, and one look shows it.
local none = #KEYS > 4 and redis.call('EXISTS', unpack(KEYS, 4)) == 0
local last
local replies, granted, records, running, all = {}, {}, {}, {}, {}

local function refused(item, written)
  local said = type(written) == 'table' and written.err
  if said then
    replies[item] = {us, 'refused', said}
  end
  return said
end

for item = 1, #KEYS - 3 do
  local record = KEYS[item + 3]
  local value = none and '' or redis.call('GETRANGE', record, 0, 4095)
  local arg = item * 4 - 1
  if string.sub(value, 77, 92) == ARGV[arg + 2] and string.sub(value, 2, 2) == 'r'
      and tonumber(string.sub(value, 19, 34)) > ms and string.sub(value, 93, 124) == string.sub(ARGV[arg + 3], 1, 32) then
    -- The same claim, sent again because its answer was lost.
    replies[item] = {us, 'granted', string.sub(value, 3, 18), string.sub(value, 19, 34), string.sub(value, 67, 76)}
    if ARGV[1] == '1' then
      -- A write of this connection is what its WAIT waits for.
      refused(item, redis.pcall('HSET', KEYS[1], 'asked', ARGV[arg + 2]))
    end
  elseif value ~= '' then
    replies[item] = {us, 'found', value, #value < 4096 and #value or redis.call('STRLEN', record)}
  elseif ms > tonumber(ARGV[arg + 1]) then
    replies[item] = {us, 'too late'}
  else
    -- Above the last one, whatever the clock says.
    last = last or math.max(math.floor((us - 1767225600000000) / ARGV[2]) - 1,
      tonumber(redis.call('HGET', KEYS[1], 'fence') or 0))
    last = last + 1
    local fence = string.format('%016.0f', last)
    local lease_until = string.format('%016.0f', ms + ARGV[arg])
    local digest = string.sub(record, -32)
    local n = #records
    records[n + 1] = record
    records[n + 2] = '1r' .. fence .. lease_until .. now .. '00000000000000000000000001' .. ARGV[arg + 2] .. ARGV[arg + 3]
    running[n + 1], running[n + 2] = lease_until, digest
    all[n + 1], all[n + 2] = fence, digest
    replies[item] = {us, 'granted', fence, lease_until, '1'}
    granted[#granted + 1] = item
  end
end
if last then
  local written = redis.pcall('HSET', KEYS[1], 'fence', string.format('%016.0f', last))
  if type(written) == 'table' then
    for _, item in ipairs(granted) do
      refused(item, written)
    end
    return replies
  end
  redis.call('MSET', unpack(records))
  redis.call('ZADD', KEYS[2], unpack(running))
  redis.call('ZADD', KEYS[3], unpack(all))
end
return replies
