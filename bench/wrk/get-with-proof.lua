-- Requests the paths of a file with GET, each with its own DPoP proof. Arguments: token, file with lines of a path and
-- a proof.
require('report')
local requests, n = {}, 0
function init(args)
  for line in io.lines(args[2]) do
    local path, proof = line:match('^(%S+) (%S+)$')
    requests[#requests + 1] = wrk.format('GET', path, { Authorization = 'DPoP ' .. args[1], DPoP = proof })
  end
end
function request()
  n = n % #requests + 1
  return requests[n]
end
