-- Creates the bookings of a file one after the other, each with its hold.
-- Arguments: token, file with the id of a hold, its bay and its start in each line.
require('report')
local bookings = require('bookings')
local headers, rows, n
function init(args)
  headers, rows, n = bookings.headers(args[1]), bookings.rows(args[2]), 0
end
function request()
  n = n + 1
  local row = rows[n % #rows + 1]
  local hold = string.format(',"holdId":"%s"', row.id)
  local body = bookings.body(row.bay, 'player-' .. n % 500, row.start, row.start + 1800, hold)
  return wrk.format('POST', '/api/bookings', headers, body)
end
