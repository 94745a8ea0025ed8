-- Uses each refresh token once. The refresh token of a response is used in a later request. `queue` contains the unused
-- tokens between the indexes `first` and `last`.
-- Arguments: path, file of refresh tokens (more tokens than connections), further form parameters.
require('report')
local path, parameters
local headers = { ['Content-Type'] = 'application/x-www-form-urlencoded' }
local queue, first, last = {}, 1, 0
function init(args)
  path, parameters = args[1], args[3]
  for token in io.lines(args[2]) do
    last = last + 1
    queue[last] = token
  end
end
function request()
  local token = queue[first]
  queue[first] = nil
  first = first + 1
  local body = 'grant_type=refresh_token&refresh_token=' .. (token or 'none-left') .. '&' .. parameters
  return wrk.format('POST', path, headers, body)
end
function response(status, _, body)
  local token = body:match('"refresh_token"%s*:%s*"([^"]+)"')
  if token then
    last = last + 1
    queue[last] = token
  end
end
