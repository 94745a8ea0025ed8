-- Creates bookings of half an hour in one bay, each directly after the previous one.
-- Arguments: token, bay, number of the first slot, 2100-01-01 in seconds since 1970.
require('report')
local headers, bay, n, origin
function init(args)
  headers = { ['Authorization'] = 'Bearer ' .. args[1], ['Content-Type'] = 'application/json' }
  bay, n, origin = args[2], tonumber(args[3]), tonumber(args[4])
end
function request()
  local start = origin + n * 1800
  n = n + 1
  return wrk.format('POST', '/api/bookings', headers, string.format(
    '{"bayId":"%s","userAlias":"player","startDate":"%s","endDate":"%s"}', bay,
    os.date('!%Y-%m-%dT%H:%M:%S.000Z', start), os.date('!%Y-%m-%dT%H:%M:%S.000Z', start + 1800)))
end
