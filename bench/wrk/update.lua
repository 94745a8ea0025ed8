-- Updates the bookings of a file with PUT, in turn, each time with another end.
-- Arguments: token, file with lines of "id bay start". The start is in seconds since 1970.
require('report')
local headers, rows, n = nil, {}, 0
function init(args)
  headers = { ['Authorization'] = 'Bearer ' .. args[1], ['Content-Type'] = 'application/json' }
  for line in io.lines(args[2]) do
    local id, bay, start = line:match('(%S+) (%S+) (%S+)')
    rows[#rows + 1] = { id = id, bay = bay, start = tonumber(start) }
  end
  math.randomseed(os.time())
  n = math.random(#rows)
end
function request()
  n = n + 1
  local row = rows[n % #rows + 1]
  local finish = row.start + 1800 + (math.floor(n / #rows) + math.random(60)) % 60 * 60
  local body = string.format('{"bayId":"%s","userAlias":"player-%d","startDate":"%s","endDate":"%s"}', row.bay, n % 500,
    os.date('!%Y-%m-%dT%H:%M:%S.000Z', row.start), os.date('!%Y-%m-%dT%H:%M:%S.000Z', finish))
  return wrk.format('PUT', '/api/bookings/' .. row.id, headers, body)
end
