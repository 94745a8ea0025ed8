-- Creates bookings of half an hour that never overlap: one booking in each bay, and then the next half hour. Or creates
-- groups of bookings, each of which takes successive half hours of a bay.
-- Arguments: token, number of bays, number of the first slot, start of slot 0 in seconds since 1970, size of a group.
require('report')
local bookings = require('bookings')
local headers, bays, first, origin, size
local n = 0
function init(args)
  headers, bays, first = bookings.headers(args[1]), tonumber(args[2]), tonumber(args[3])
  origin, size = tonumber(args[4]), tonumber(args[5])
end
function request()
  local bay, alias = string.format('bay-%d', n % bays + 1), 'player-' .. n % 500
  local slot = math.ceil(first / bays) + math.floor(n / bays) * size
  n = n + 1
  local bodies = {}
  for i = 1, size do
    local start = origin + (slot + i - 1) * 1800
    bodies[i] = bookings.body(bay, alias, start, start + 1800)
  end
  if size == 1 then return wrk.format('POST', '/api/bookings', headers, bodies[1]) end
  local body = '{"bookings":[' .. table.concat(bodies, ',') .. ']}'
  return wrk.format('POST', '/api/booking-groups', headers, body)
end
