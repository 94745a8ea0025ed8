-- Updates the bookings of a file with PUT, in turn, each time with another end.
-- Arguments: token, file with the id, the bay and the start of a booking in each line.
require('report')
local bookings = require('bookings')
local headers, rows, n
function init(args)
  headers, rows = bookings.headers(args[1]), {}
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
  -- The booking lasts 30 to 89 minutes.
  local minutes = 30 + (math.floor(n / #rows) + math.random(60)) % 60
  local body = bookings.body(row.bay, 'player-' .. n % 500, row.start, row.start + minutes * 60)
  return wrk.format('PUT', '/api/bookings/' .. row.id, headers, body)
end
