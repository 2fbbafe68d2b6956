-- Appends entries in their order, and none after one that failed.
-- KEYS: stream. ARGV: the length to trim to or nothing, then for each entry how many arguments follow, and these: names and values.
-- Gives: the ids of those that were appended, and what the server said to the first that was not, or nothing.
local ids = {}
local at = 2
while ARGV[at] do
  local count = tonumber(ARGV[at])
  local add = { 'XADD', KEYS[1] }
  if ARGV[1] ~= '' then
    add[3], add[4], add[5] = 'MAXLEN', '~', ARGV[1]
  end
  add[#add + 1] = '*'
  for field = at + 1, at + count do
    add[#add + 1] = ARGV[field]
  end
  local id = redis.pcall(unpack(add))
  if type(id) == 'table' and id.err then
    return { ids, id.err }
  end
  ids[#ids + 1] = id
  at = at + count + 1
end
return { ids, '' }
