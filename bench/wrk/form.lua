-- Sends the same form with POST in every request. Arguments: path, body, Authorization header (or - for none).
require('report')
local requests = require('in-turn')
function init(args)
  local headers = { ['Content-Type'] = 'application/x-www-form-urlencoded' }
  if args[3] ~= '-' then headers['Authorization'] = args[3] end
  requests[1] = wrk.format('POST', args[1], headers, args[2])
end
