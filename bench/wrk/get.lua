-- Requests the paths of a file in turn. Arguments: token, file with one path in each line, method (default: GET).
require('report')
local requests = require('in-turn')
function init(args)
  for path in io.lines(args[2]) do
    requests[#requests + 1] = wrk.format(args[3] or 'GET', path, { ['Authorization'] = 'Bearer ' .. args[1] })
  end
end
