// Adds the token for clients that cannot show one. Everything else, Host and Origin too, goes through as it came.
// Usage: node proxy.mjs PORT TOKEN-FILE; prints its own port.
import http from "node:http";
import { readFileSync } from "node:fs";

const [port, file] = process.argv.slice(2);
const authorization = `Bearer ${readFileSync(file, "utf8").trim()}`;
const server = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization };
  const onward = http.request({ host: "127.0.0.1", port, method: asked.method, path: asked.url, headers }, (answered) => {
    answer.writeHead(answered.statusCode, answered.headers);
    answered.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
