-- Sends the same form with POST in every request. Arguments: path, body.
require('report')
local requests = require('in-turn')
function init(args)
  requests[1] = wrk.format('POST', args[1], { ['Content-Type'] = 'application/x-www-form-urlencoded' }, args[2])
end
