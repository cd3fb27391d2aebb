// Preloaded into the conformance suite, which knows no tokens: each of its requests gets one.
import http from "node:http";
import { createRequire, syncBuiltinESMExports } from "node:module";

const bearer = `Bearer ${process.env.TOKEN}`;
const undici = createRequire(process.argv[1])("undici");
const add = (dispatch) => (options, handler) => {
  const headers = Array.isArray(options.headers)
    ? [...options.headers, "authorization", bearer]
    : { ...options.headers, authorization: bearer };
  return dispatch({ ...options, headers }, handler);
};
undici.setGlobalDispatcher(new undici.Agent().compose(add));
const { fetch } = globalThis;
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers ?? (url instanceof Request ? url.headers : undefined));
  headers.set("authorization", bearer);
  return fetch(url, { ...options, headers });
};
const { request } = http;
http.request = (...given) => {
  const found = request(...given);
  found.setHeader("authorization", bearer);
  return found;
};
syncBuiltinESMExports();
