-- Gives back what a reader still holds, and forgets the reader once it holds nothing.
-- KEYS: stream. ARGV: group, consumer, the consumer for returned entries, the new idle time in ms, how many at most.
-- Gives: how many the reader held, and how many of these were deleted from the stream meanwhile.
local stream, group, me, returned = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local pending = redis.pcall('XPENDING', stream, group, '-', '+', ARGV[5], me)
if pending.err then
  return { 0, 0 }
end
local lost = 0
for _, entry in ipairs(pending) do
  -- Of an entry that was deleted the server forgets that it was pending, and XCLAIM gives nothing.
  lost = lost + 1 - #redis.call('XCLAIM', stream, group, returned, 0, entry[1], 'IDLE', ARGV[4], 'JUSTID')
end
if #pending < tonumber(ARGV[5]) then
  redis.call('XGROUP', 'DELCONSUMER', stream, group, me)
end
return { #pending, lost }
