-- Builds requests that create or update bookings. All times are in seconds since 1970.
local bookings = {}

function bookings.headers(token)
  return { ['Authorization'] = 'Bearer ' .. token, ['Content-Type'] = 'application/json' }
end

-- Returns the JSON body of a booking.
function bookings.body(bay, alias, start, finish)
  return string.format('{"bayId":"%s","userAlias":"%s","startDate":"%s","endDate":"%s"}', bay, alias,
    os.date('!%Y-%m-%dT%H:%M:%S.000Z', start), os.date('!%Y-%m-%dT%H:%M:%S.000Z', finish))
end

return bookings
