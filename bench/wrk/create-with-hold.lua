-- Creates the bookings of a file one after the other, each with its hold.
-- Arguments: token, file with lines of "hold bay start". The start is in seconds since 1970.
require('report')
local headers, rows, n = nil, {}, 0
function init(args)
  headers = { ['Authorization'] = 'Bearer ' .. args[1], ['Content-Type'] = 'application/json' }
  for line in io.lines(args[2]) do
    local hold, bay, start = line:match('(%S+) (%S+) (%S+)')
    rows[#rows + 1] = { hold = hold, bay = bay, start = tonumber(start) }
  end
end
function request()
  n = n + 1
  local row = rows[n % #rows + 1]
  local body = string.format('{"bayId":"%s","userAlias":"player-%d","startDate":"%s","endDate":"%s","holdId":"%s"}',
    row.bay, n % 500, os.date('!%Y-%m-%dT%H:%M:%S.000Z', row.start),
    os.date('!%Y-%m-%dT%H:%M:%S.000Z', row.start + 1800), row.hold)
  return wrk.format('POST', '/api/bookings', headers, body)
end
