-- Sends the requests of a table in turn. A script fills the table that this module returns.
local requests, sent = {}, 0
function request()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end
return requests
