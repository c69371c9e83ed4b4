// oxigraph.mjs: reads JSON lines {"data": Turtle, "query": SPARQL}, answers each with a JSON line: sorted rows, or {"error": ...}. The
// package oxigraph lies in the folder NODE_MODULES.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const oxigraph = (await import(pathToFileURL(process.env.NODE_MODULES + "/oxigraph/node.js"))).default;

const term = (t) =>
  !t ? null : t.termType === "NamedNode" ? ["i", t.value] : t.termType === "BlankNode" ? ["b", t.value] : ["l", t.value, t.language, t.datatype.value];
let store, last;
for await (const line of createInterface({ input: process.stdin })) {
  const { data, query } = JSON.parse(line);
  let answer;
  try {
    if (data !== last) {
      store = new oxigraph.Store();
      store.load(data, { format: "text/turtle", base_iri: "http://e/" });
      last = data;
    }
    const r = store.query(query, { base_iri: "http://e/" });
    if (typeof r === "boolean") answer = { rows: r };
    else answer = { rows: r.map((m) => (m instanceof Map ? Object.fromEntries([...m].map(([k, v]) => [k, term(v)])) : [term(m.subject), term(m.predicate), term(m.object)])) };
  } catch (e) {
    answer = { error: String(e) };
  }
  console.log(JSON.stringify(answer));
}
