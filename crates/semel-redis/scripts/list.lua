-- Returns records of a bucket in the order of an index, the newest claim first, without their bodies.
-- KEYS: index
-- ARGV: fences below this, count, start of the keys of records, how many bytes are enough
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local reply, bytes = {us, 'listed', ''}, 0
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #found, 2 do
  local record = ARGV[3] .. found[i]
  local head = redis.call('GETRANGE', record, 0, 134)
  local value = ''
  if head ~= '' then
    value = redis.call('GETRANGE', record, 0, 134 + tonumber(string.sub(head, 126, 135)))
  end
  reply[#reply + 1] = {found[i + 1], value, redis.call('STRLEN', record)}
  bytes = bytes + #value
  if bytes >= tonumber(ARGV[4]) and i + 2 < #found then
    reply[3] = 'more'
    break
  end
end
return {reply}
