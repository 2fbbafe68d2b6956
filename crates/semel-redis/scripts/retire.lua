-- Ends settled records of a bucket whose retention has ended: archived if that was asked, else deleted.
-- Most are gone already by their own expiry, and only the indexes know of them.
-- KEYS: expiring, all, archived
-- ARGV: limit, start of the keys of records, start of the keys of archived records
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local expiring, all, archived = unpack(KEYS)
local deleted_count, archived_count = 0, 0
for _, digest in ipairs(redis.call('ZRANGEBYSCORE', expiring, '-inf', ms, 'LIMIT', 0, ARGV[1])) do
  local record = ARGV[2] .. digest
  local head = redis.call('GETRANGE', record, 0, 134)
  local settled = string.sub(head, 2, 2) == 's'
  if settled and tonumber(string.sub(head, 19, 34)) > ms then
    redis.call('ZADD', expiring, string.sub(head, 19, 34), digest)
  elseif settled and math.floor(tonumber(string.sub(head, 125, 125)) / 2) % 2 == 1 then
    local fence = string.sub(head, 3, 18)
    redis.call('RENAME', record, ARGV[3] .. fence)
    redis.call('ZADD', archived, fence, fence)
    redis.call('ZREM', expiring, digest)
    redis.call('ZREM', all, digest)
    archived_count = archived_count + 1
  else
    redis.call('ZREM', expiring, digest)
    if settled or head == '' then
      redis.call('DEL', record)
      redis.call('ZREM', all, digest)
    end
    deleted_count = deleted_count + 1
  end
end
return {{us, 'retired', deleted_count, archived_count}}
