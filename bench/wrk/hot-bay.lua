-- Creates bookings of half an hour in one bay, each directly after the previous one.
-- Arguments: token, bay, number of the first slot, 2100-01-01 in seconds since 1970.
require('report')
local bookings = require('bookings')
local headers, bay, n, origin
function init(args)
  headers, bay, n, origin = bookings.headers(args[1]), args[2], tonumber(args[3]), tonumber(args[4])
end
function request()
  local start = origin + n * 1800
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, bookings.body(bay, 'player', start, start + 1800))
end
