-- Requests the paths of a file with GET, in turn. Arguments: token (or - for none), file with one path in each line.
require('report')
local requests = require('in-turn')
function init(args)
  local headers = {}
  if args[1] ~= '-' then headers['Authorization'] = 'Bearer ' .. args[1] end
  for path in io.lines(args[2]) do
    requests[#requests + 1] = wrk.format('GET', path, headers)
  end
end
