-- Creates bookings of half an hour that never overlap: one booking in each bay, and then the next half hour.
-- Arguments: token, number of bays, number of the first slot, 2100-01-01 in seconds since 1970, prefix of the external
-- ids (or - for bookings without an external id).
require('report')
local bookings = require('bookings')
local headers, bays, n, origin, prefix
function init(args)
  headers = bookings.headers(args[1])
  bays, n, origin, prefix = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), args[5]
end
function request()
  local start = origin + math.floor(n / bays) * 1800
  local external = prefix == '-' and '' or string.format(',"externalBookingId":"%s-%d"', prefix, n)
  local bay = string.format('bench-bay-%06d', n % bays + 1)
  local body = bookings.body(bay, 'player-' .. n % 500, start, start + 1800, external)
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, body)
end
