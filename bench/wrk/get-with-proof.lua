-- Requests the paths of a file with GET, in turn, each with its own DPoP proof.
-- Arguments: token, file with one path and its proof in each line.
require('report')
local requests = require('in-turn')
function init(args)
  for line in io.lines(args[2]) do
    local path, proof = line:match('^(%S+) (%S+)$')
    requests[#requests + 1] = wrk.format('GET', path, { Authorization = 'DPoP ' .. args[1], DPoP = proof })
  end
end
