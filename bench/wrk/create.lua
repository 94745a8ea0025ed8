-- Creates bookings of half an hour that never overlap: one booking in each bay, and then the next half hour.
-- Arguments: token, number of bays, number of the first slot, start of slot 0 in seconds since 1970.
require('report')
local bookings = require('bookings')
local headers, bays, n, origin
function init(args)
  headers, bays, n, origin = bookings.headers(args[1]), tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
end
function request()
  local start = origin + math.floor(n / bays) * 1800
  local bay = string.format('bay-%d', n % bays + 1)
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, bookings.body(bay, 'player-' .. n % 500, start, start + 1800))
end
