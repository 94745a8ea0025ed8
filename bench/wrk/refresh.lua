-- Uses each refresh token once. The refresh token of a response is used in a later request. `queue` contains the unused
-- tokens between the indexes `first` and `last`.
-- Arguments: path, file of refresh tokens (more tokens than connections), Authorization header (or - for none), further
-- form parameters.
require('report')
local path, headers, parameters
local queue, first, last = {}, 1, 0
function init(args)
  headers = { ['Content-Type'] = 'application/x-www-form-urlencoded' }
  path, parameters = args[1], args[4] or ''
  if args[3] ~= '-' then headers['Authorization'] = args[3] end
  for token in io.lines(args[2]) do
    last = last + 1
    queue[last] = token
  end
end
function request()
  local token = queue[first]
  queue[first] = nil
  first = first + 1
  local body = 'grant_type=refresh_token&refresh_token=' .. (token or 'none-left') .. parameters
  return wrk.format('POST', path, headers, body)
end
function response(status, _, body)
  local token = body:match('"refresh_token"%s*:%s*"([^"]+)"')
  if token then
    last = last + 1
    queue[last] = token
  end
end
