-- Like create.lua, but waits for 10 ms before each request of a connection.
require('create')
function delay()
  return 10
end
