-- Creates the bookings of a file one after the other, each with its hold.
-- Arguments: file with a token, the id of a hold of its owner, its bay and its start in seconds
-- since 1970 in each line.
require('report')
local bookings = require('bookings')
local rows, n = {}, 0
function init(args)
  for line in io.lines(args[1]) do
    local token, id, bay, start = line:match('(%S+) (%S+) (%S+) (%S+)')
    rows[#rows + 1] = { token = token, id = id, bay = bay, start = tonumber(start) }
  end
end
function request()
  n = n + 1
  local row = rows[(n - 1) % #rows + 1]
  local hold = string.format(',"holdId":"%s"', row.id)
  local body = bookings.body(row.bay, 'player-' .. n % 500, row.start, row.start + 1800, hold)
  return wrk.format('POST', '/api/bookings', bookings.headers(row.token), body)
end
