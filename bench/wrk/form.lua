-- Sends the same form with POST in every request. Arguments: path, body, Authorization header (or - for none).
require('report')
local message
function init(args)
  local headers = { ['Content-Type'] = 'application/x-www-form-urlencoded' }
  if args[3] ~= '-' then headers['Authorization'] = args[3] end
  message = wrk.format('POST', args[1], headers, args[2])
end
function request()
  return message
end
