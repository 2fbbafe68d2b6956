-- Takes over entries that were pending for too long.
-- KEYS: stream. ARGV: group, consumer, the consumer for returned entries, the shortest idle time in ms, where to begin, how many.
-- Gives: where to go on, how many were deleted while they were pending, and for each entry its id, its fields and how often it was delivered;
-- or nothing at all if the stream or its group is another one.
local stream, group, me, returned = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if consumers.err and not string.find(consumers.err, 'NOGROUP', 1, true) and not string.find(consumers.err, 'no such key', 1, true) then
  return consumers
end
local is_same = false
for _, consumer in ipairs(consumers) do
  is_same = is_same or consumer[2] == returned
end
if not is_same then
  return {}
end
local claimed = redis.call('XAUTOCLAIM', stream, group, me, ARGV[4], ARGV[5], 'COUNT', ARGV[6])
local entries = {}
for _, entry in ipairs(claimed[2]) do
  local pending = redis.call('XPENDING', stream, group, entry[1], entry[1], 1)[1]
  entries[#entries + 1] = { entry[1], entry[2], pending and pending[4] or 1 }
end
return { claimed[1], #claimed[3], entries }
