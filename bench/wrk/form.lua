-- Sends the forms of a file with POST, in turn. Arguments: path, file with one form in each line.
require('report')
local requests = require('in-turn')
function init(args)
  local headers = { ['Content-Type'] = 'application/x-www-form-urlencoded' }
  for form in io.lines(args[2]) do requests[#requests + 1] = wrk.format('POST', args[1], headers, form) end
end
