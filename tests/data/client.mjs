// A client of the TypeScript SDK, old or new, against one server; prints what it saw as JSON.
// Its argument is JSON: sdk ("sdk" or "client"), options, and url with headers, or command, args, env, cwd.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const find = createRequire(`${given.prefix}/package.json`);
const load = (name) => import(pathToFileURL(find.resolve(`@modelcontextprotocol/${name}`)));
const isOld = given.sdk === "sdk";
const { Client } = await load(isOld ? "sdk/client/index.js" : "client");
let transport;
if (given.url) {
  const { StreamableHTTPClientTransport } = await load(isOld ? "sdk/client/streamableHttp.js" : "client");
  transport = new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: given.headers } });
} else {
  const { StdioClientTransport } = await load(isOld ? "sdk/client/stdio.js" : "client/stdio");
  transport = new StdioClientTransport(given.server);
}
const client = new Client({ name: "a-test", version: "1" }, given.options);
await client.connect(transport);
const heard = [];
const onprogress = ({ message }) => heard.push(message);
const call = (name, args) =>
  isOld
    ? client.callTool({ name, arguments: args }, undefined, { onprogress })
    : client.callTool({ name, arguments: args }, { onprogress });
const tools = (await client.listTools()).tools.map(({ name }) => name);
const loaded = await call("load_context", { feature: "checkout", level: "light" });
const resources = (await client.listResources()).resources.map(({ uri }) => uri);
const refused = await call("load_context", { feature: "../x" });
const era = (client.getNegotiatedProtocolVersion ?? (() => transport.protocolVersion)).call(client);
await client.close();
console.log(JSON.stringify({
  tools, resources, heard, era: era ?? "", status: loaded.structuredContent.status, refused: refused.isError,
}));
