-- Makes sure that the group is there, and its consumer for returned entries, whose name tells one life of the stream from another.
-- KEYS: stream. ARGV: group, where a new group begins, 1 to make the stream, the prefix of returned consumers, the name for a new one,
-- the prefix of readers' generated names, after how many ms of silence such a reader is forgotten if it holds nothing.
-- Gives: 1 if the group is new, the name of the consumer for returned entries, the last id that was delivered to the group.
local stream, group = KEYS[1], ARGV[1]
local made
if ARGV[3] == '1' then
  made = redis.pcall('XGROUP', 'CREATE', stream, group, ARGV[2], 'MKSTREAM')
else
  made = redis.pcall('XGROUP', 'CREATE', stream, group, ARGV[2])
end
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then
  return made
end
local returned
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  local name, pending, idle = consumer[2], consumer[4], consumer[6]
  if string.sub(name, 1, #ARGV[4]) == ARGV[4] then
    returned = name
  elseif string.sub(name, 1, #ARGV[6]) == ARGV[6] and pending == 0 and idle > tonumber(ARGV[7]) then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, name)
  end
end
if not returned then
  returned = ARGV[5]
  redis.call('XGROUP', 'CREATECONSUMER', stream, group, returned)
end
local last = '0-0'
for _, found in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  if found[2] == group then
    last = found[8]
  end
end
return { made.err and 0 or 1, returned, last }
