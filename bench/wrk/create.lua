-- Creates bookings of half an hour that never overlap: one booking in each bay, and then the next half hour.
-- Arguments: token, number of bays, number of the first slot, 2100-01-01 in seconds since 1970, prefix of the external
-- ids (or - for bookings without an external id).
require('report')
local headers, bays, n, origin, external
function init(args)
  headers = { ['Authorization'] = 'Bearer ' .. args[1], ['Content-Type'] = 'application/json' }
  bays, n, origin, external = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), args[5]
end
function request()
  local start = origin + math.floor(n / bays) * 1800
  local body = string.format('{"bayId":"bench-bay-%06d","userAlias":"player-%d","startDate":"%s","endDate":"%s"%s}',
    n % bays + 1, n % 500, os.date('!%Y-%m-%dT%H:%M:%S.000Z', start), os.date('!%Y-%m-%dT%H:%M:%S.000Z', start + 1800),
    external == '-' and '' or string.format(',"externalBookingId":"%s-%d"', external, n))
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, body)
end
