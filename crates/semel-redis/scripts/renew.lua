-- Extends leases that are alive, for items of one bucket. In any other case the start of the record is
-- returned, with the length of the whole, and the caller decides by the protocol.
-- KEYS: running; then per item: record
-- ARGV per item: fence, lease_ms
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local replies = {}
for item = 1, #KEYS - 1 do
  local record = KEYS[item + 1]
  local fence, lease_ms = ARGV[item * 2 - 1], ARGV[item * 2]
  local head = redis.call('GETRANGE', record, 0, 33)
  local ends = tonumber(string.sub(head, 19, 34)) or 0
  if string.sub(head, 1, 2) == '1r' and string.sub(head, 3, 18) == fence and ends > ms then
    -- A shorter term than what is left takes no time away.
    local lease_until = string.format('%016.0f', math.max(ends, ms + lease_ms))
    redis.call('SETRANGE', record, 18, lease_until)
    redis.call('ZADD', KEYS[1], lease_until, string.sub(record, -32))
    replies[item] = {us, 'renewed', lease_until}
  else
    local value = redis.call('GETRANGE', record, 0, 4095)
    replies[item] = {us, 'found', value ~= '' and value, #value < 4096 and #value or redis.call('STRLEN', record)}
  end
end
return replies
