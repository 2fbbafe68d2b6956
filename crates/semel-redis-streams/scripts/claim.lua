-- Takes over entries that were pending for too long.
-- KEYS: stream. ARGV: group, consumer, the consumer for returned entries, the shortest idle time in ms, where to begin, how many.
-- Gives: where to go on, how many of them were deleted while they were pending, and for each entry its id, its fields and how often it was delivered;
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
-- Not XAUTOCLAIM: it drops deleted entries from what is pending, however short they have been idle, and a reader that still works on one could not answer it any more.
local found = redis.call('XPENDING', stream, group, 'IDLE', ARGV[4], ARGV[5], '+', ARGV[6])
if #found == 0 then
  return { '0-0', 0, {} }
end
local ids, counts = {}, {}
for _, pending in ipairs(found) do
  ids[#ids + 1] = pending[1]
  counts[pending[1]] = pending[4]
end
local entries = {}
for _, entry in ipairs(redis.call('XCLAIM', stream, group, me, ARGV[4], unpack(ids))) do
  entries[#entries + 1] = { entry[1], entry[2], counts[entry[1]] + 1 }
end
local next = #ids < tonumber(ARGV[6]) and '0-0' or '(' .. ids[#ids]
return { next, #ids - #entries, entries }
