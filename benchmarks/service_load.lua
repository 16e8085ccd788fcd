-- Asks and their tells for wrk: decisions wait in a list until a connection tells them.
local head = {["Content-Type"] = "application/json"}
local waiting, first, last = {}, 1, 0

function init(arguments)
   head["Authorization"] = "Bearer " .. arguments[1]
end

function request()
   if first <= last then
      local decision = waiting[first]
      waiting[first] = nil
      first = first + 1
      local body = '{"decision":"' .. decision .. '","observation":"yes"}'
      return wrk.format("POST", "/v1/studies/bench/tell", head, body)
   end
   return wrk.format("POST", "/v1/studies/bench/ask", head, "{}")
end

function response(status, headers, body)
   local decision = string.match(body, '"id":"([^"]+)"')
   if decision then
      last = last + 1
      waiting[last] = decision
   end
end

function done(summary, latency, requests)
   local failed = summary.errors.status + summary.errors.connect + summary.errors.read
      + summary.errors.write + summary.errors.timeout
   io.write(string.format('{"requests": %d, "seconds": %f, "refused": %d, "p50": %f, "p99": %f, "p999": %f}\n',
      summary.requests, summary.duration / 1e6, failed,
      latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency:percentile(99.9) / 1e6))
end
