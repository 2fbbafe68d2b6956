-- Answers deliveries, each only if it is still this reader's: the entry is pending, with this consumer, and was not delivered again since.
-- KEYS: stream. ARGV: group, consumer, the consumer for returned entries, then for each delivery: id, how often it was delivered,
-- a (ack), e (extend) or b (give back), and for the last its new idle time in ms.
-- Gives: for each delivery 1 if it was done, 0 if it is gone, 2 if the entry was deleted from the stream, so that it cannot be delivered
-- again and its pending record is gone too; or nil if the stream or its group is another one.
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
  return false
end
local settled = {}
for at = 4, #ARGV, 4 do
  local id, count, verb, idle = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  local pending = redis.call('XPENDING', stream, group, id, id, 1)[1]
  local done = 0
  if pending and pending[2] == me and pending[4] == count then
    if verb == 'a' then
      done = redis.call('XACK', stream, group, id)
    elseif verb == 'e' then
      done = #redis.call('XCLAIM', stream, group, me, 0, id, 'JUSTID')
    else
      done = #redis.call('XCLAIM', stream, group, returned, 0, id, 'IDLE', idle, 'JUSTID')
    end
    -- Of an entry that was deleted meanwhile the server forgets that it was pending, and XCLAIM gives nothing.
    if done == 0 then
      done = 2
    end
  end
  settled[#settled + 1] = done
end
return settled
