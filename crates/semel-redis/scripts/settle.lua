-- Records outcomes of claims whose lease is alive, for items of one bucket. In any other case the start of the
-- record is returned, with the length of the whole, and the caller decides by the protocol.
-- KEYS: running, expiring; then per item: record
-- ARGV per item: fence, keep_ms, flags, head of the outcome, body
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local now = string.format('%016.0f', ms)
local replies, digests, expiring = {}, {}, {}
for item = 1, #KEYS - 2 do
  local record = KEYS[item + 2]
  local value = redis.call('GETRANGE', record, 0, 4095)
  local arg = item * 5 - 4
  local fence = ARGV[arg]
  if string.sub(value, 1, 2) == '1r' and string.sub(value, 3, 18) == fence
      and tonumber(string.sub(value, 19, 34)) > ms then
    local flags, outcome = ARGV[arg + 2], ARGV[arg + 3]
    local expires = string.format('%.0f', ms + ARGV[arg + 1])
    local identity = string.sub(value, 136)
    local settled = table.concat({'1s', fence, string.rep('0', 16 - #expires), expires, string.sub(value, 35, 50), now,
      string.sub(value, 67, 124), flags, string.format('%010.0f', #identity + #outcome), identity, outcome, ARGV[arg + 4]})
    if flags >= '2' then
      -- To be archived: the sweep moves it, so it must not disappear by itself.
      redis.call('SET', record, settled)
    else
      redis.call('SET', record, settled, 'PXAT', expires)
    end
    local n = #digests
    digests[n + 1] = string.sub(record, -32)
    expiring[n * 2 + 1], expiring[n * 2 + 2] = expires, digests[n + 1]
    replies[item] = {us, 'settled'}
  else
    replies[item] = {us, 'found', value ~= '' and value, #value < 4096 and #value or redis.call('STRLEN', record)}
  end
end
if #digests > 0 then
  redis.call('ZREM', KEYS[1], unpack(digests))
  redis.call('ZADD', KEYS[2], unpack(expiring))
end
return replies
