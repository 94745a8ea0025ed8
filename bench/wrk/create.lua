-- Creates bookings of half an hour that never overlap: one booking in each bay, and then the next half hour.
-- Arguments: token, number of bays, number of the first slot, start of slot 0 in seconds since 1970.
require('report')
local bookings = require('bookings')
local headers, bays, first, origin
local n = 0
function init(args)
  headers, bays, first, origin = bookings.headers(args[1]), tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
end
function request()
  local bay, alias = string.format('bay-%d', n % bays + 1), 'player-' .. n % 500
  local start = origin + (math.ceil(first / bays) + math.floor(n / bays)) * 1800
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, bookings.body(bay, alias, start, start + 1800))
end
