"""w3c.py STEMMA FOLDER [PATTERN]: W3C's tests of SPARQL 1.0 and 1.1 queries, run with `stemma sparql`.

FOLDER is the folder `sparql` of W3C's rdf-tests. The manifests are read by stemma, too; the results are compared here: rows as
multisets, or in order where the test gives one, blank nodes by a mapping. One line for each test that does not pass, and the counts.

Out of scope: updates, entailment, the protocol, the service description, federation, graph stores."""
import csv, decimal, io, json, os, re, subprocess, sys, tempfile, urllib.parse
import xml.etree.ElementTree as ET

stemma, top = sys.argv[1], os.path.realpath(sys.argv[2])
pattern = re.compile(sys.argv[3]) if len(sys.argv) > 3 else None
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
OUT = ("entailment", "service", "service-description", "protocol", "graph-store-protocol", "http-rdf-update", "syntax-fed", "syntax-update-1", "syntax-update-2")
NUMBERS = {XSD + n for n in ("integer", "decimal", "double", "float")}
temporary = tempfile.mkdtemp()


class Failed(Exception):
    pass


def run(*args):
    p = subprocess.run([stemma, "sparql", *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")


def path_of(uri):
    return urllib.parse.unquote(uri[len("file://") :])


def as_turtle(path):
    """RDF/XML becomes N-Triples."""
    if not path.endswith(".rdf"):
        return path
    out = os.path.join(temporary, os.path.basename(path) + ".nt")
    if not os.path.exists(out):
        with open(out, "wb") as f:
            subprocess.run(["rapper", "-q", "-i", "rdfxml", "-o", "ntriples", path], stdout=f, check=True)
    return out


TERM = re.compile(r'<([^>]*)>|_:(\S+)|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?')
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def unescape(s):
    def one(m):
        e = m.group(1)
        return chr(int(e[1:], 16)) if e[0] in "uU" else ESCAPES[e]

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", one, s)


def literal(text, lang, datatype):
    return ("l", text, (lang or "").lower(), datatype or (RDF + "langString" if lang else XSD + "string"))


def term(m):
    if m.group(1) is not None:
        return ("i", unescape(m.group(1)))
    if m.group(2) is not None:
        return ("b", m.group(2))
    return literal(unescape(m.group(3)), m.group(4), m.group(5))


def triples(text):
    found = []
    for line in text.decode().split("\n"):
        if line.strip():
            found.append(tuple(term(m) for m in TERM.finditer(line)))
            if len(found[-1]) != 3:
                raise Failed("a triple cannot be read: " + line)
    return found


def graph_of(path):
    status, out, err = run("--data", as_turtle(path), "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    if status:
        raise Failed("expected graph: " + err.strip())
    return triples(out)


# ---- results ----


class Table:
    def __init__(self):
        self.vars, self.rows, self.answer, self.ordered = None, [], None, False


def from_xml(data):
    t, ns = Table(), "{http://www.w3.org/2005/sparql-results#}"
    root = ET.fromstring(data)
    b = root.find(ns + "boolean")
    if b is not None:
        t.answer = b.text.strip() == "true"
        return t
    t.vars = {v.get("name") for v in root.find(ns + "head").findall(ns + "variable")}
    for r in root.find(ns + "results").findall(ns + "result"):
        row = {}
        for x in r.findall(ns + "binding"):
            c = x[0]
            text = c.text or ""
            kind = c.tag[len(ns) :]
            lang = c.get("{http://www.w3.org/XML/1998/namespace}lang")
            row[x.get("name")] = ("i", text) if kind == "uri" else ("b", text) if kind == "bnode" else literal(text, lang, c.get("datatype"))
        t.rows.append(row)
    return t


def from_json(data):
    t, doc = Table(), json.loads(data)
    if "boolean" in doc:
        t.answer = doc["boolean"]
        return t
    t.vars = set(doc["head"]["vars"])
    for r in doc["results"]["bindings"]:
        row = {}
        for k, c in r.items():
            kind = c["type"]
            row[k] = ("i", c["value"]) if kind == "uri" else ("b", c["value"]) if kind == "bnode" else literal(c["value"], c.get("xml:lang"), c.get("datatype"))
        t.rows.append(row)
    return t


def from_graph(found):
    """A result set as triples."""
    t, by = Table(), {}
    for s, p, o in found:
        by.setdefault(s, {}).setdefault(p[1], []).append(o)
    for s, said in by.items():
        if ("i", RS + "ResultSet") not in said.get(RDF + "type", []):
            continue
        if RS + "boolean" in said:
            t.answer = said[RS + "boolean"][0][1] == "true"
            return t
        t.vars = {o[1] for o in said.get(RS + "resultVariable", [])}
        rows = []
        for sol in said.get(RS + "solution", []):
            row = {}
            for b in by.get(sol, {}).get(RS + "binding", []):
                row[by[b][RS + "variable"][0][1]] = by[b][RS + "value"][0]
            index = by.get(sol, {}).get(RS + "index")
            rows.append((int(index[0][1]) if index else 0, row))
            t.ordered |= index is not None
        t.rows = [r for _, r in sorted(rows, key=lambda x: x[0])]
        return t
    return None


def is_same_table_text(a, b, tabs):
    """CSV says less than the terms, so text is compared; in TSV numbers may be written without quotes."""

    def read(data):
        rows = list(csv.reader(io.StringIO(data.decode()), delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL))
        body = []
        for r in rows[1:]:
            if tabs:
                r = [re.sub(r'^"([^"]*)"\^\^<' + re.escape(XSD) + r"(integer|decimal|double)>$", r"\1", c) for c in r]
                r = [c.lower() if re.match(r"[-+]?[0-9.]+[eE]", c) else c for c in r]
            body.append(tuple("_:" if c.startswith("_:") else c for c in r))
        return rows[0], sorted(body)

    return read(a) == read(b)


def value(t):
    """Numbers by value: 1.0 and 1.00 are one decimal."""
    if t and t[0] == "l" and t[3] in NUMBERS:
        try:
            d = decimal.Decimal(t[1]) if t[3] in (XSD + "integer", XSD + "decimal") else float(t[1].replace("INF", "inf"))
            return ("n", float("%.12g" % float(d)), t[3])
        except (ValueError, decimal.InvalidOperation):
            pass
    return t


def same_rows(a, b, ordered=False):
    """Is there a mapping of blank nodes by which the rows (tuples) are the same?"""
    if len(a) != len(b):
        return False
    plain = lambda row: tuple(("b",) if x and x[0] == "b" else value(x) for x in row)
    if not ordered and sorted(map(repr, map(plain, a))) != sorted(map(repr, map(plain, b))):
        return False

    def fit(row, other, there, back):
        there, back = dict(there), dict(back)
        for x, y in zip(row, other):
            if x and y and x[0] == "b" and y[0] == "b":
                if there.setdefault(x, y) != y or back.setdefault(y, x) != x:
                    return None
            elif value(x) != value(y):
                return None
        return there, back

    budget = [200000]

    def match(i, free, there, back):
        if i == len(a):
            return True
        budget[0] -= 1
        if budget[0] < 0:
            raise Failed("too many blank nodes to compare")
        for k in [i] if ordered else sorted(free):
            found = fit(a[i], b[k], there, back)
            if found and match(i + 1, free - {k}, *found):
                return True
        return False

    sys.setrecursionlimit(10000)
    return match(0, frozenset(range(len(b))), {}, {})


def compare_tables(have, want, lax):
    if want.answer is not None:
        if have.answer != want.answer:
            raise Failed("the answer is %s" % have.answer)
        return
    if have.vars != want.vars and want.vars is not None and not want.vars <= have.vars:
        raise Failed("variables %s instead of %s" % (sorted(have.vars), sorted(want.vars)))
    names = sorted(want.vars | have.vars)
    rows = [[tuple(r.get(n) for n in names) for r in t.rows] for t in (have, want)]
    if lax:
        rows = [sorted(set(r), key=repr) for r in rows]
    if not same_rows(rows[0], rows[1], want.ordered):
        show = lambda rs: "; ".join(sorted(repr(r) for r in rs)[:6])
        raise Failed("%d rows instead of %d:\n      have %s\n      want %s" % (len(rows[0]), len(rows[1]), show(rows[0]), show(rows[1])))


# ---- tests ----


def evaluate(t):
    query = path_of(t["query"])
    args = ["--file", query]
    for d in t["data"]:
        args += ["--data", d + "=" + as_turtle(path_of(d))]
    for d in t["named"]:
        args += ["--named", d + "=" + as_turtle(path_of(d))]
    if not t["data"] and not t["named"]:
        args += ["--data", "/dev/null"]
    text = open(query, encoding="utf-8").read()
    for m in re.finditer(r"FROM\s+(?:NAMED\s+)?<([^>]*)>", text):
        path = os.path.join(os.path.dirname(query), m.group(1))
        if os.path.exists(path) and "file://" + os.path.realpath(path) not in t["named"]:
            args += ["--named", path]
    want_path = path_of(t["result"])
    kind = want_path.rsplit(".", 1)[1]
    if kind in ("csv", "tsv"):
        status, out, err = run(*args, "--format", kind)
        if status or not is_same_table_text(out, open(want_path, "rb").read(), kind == "tsv"):
            raise Failed("another table" + (": " + err if status else ""))
        return
    want = from_xml(open(want_path, "rb").read()) if kind == "srx" else from_json(open(want_path, "rb").read()) if kind == "srj" else None
    found = None
    if want is None:
        found = graph_of(want_path)
        want = from_graph(found)
    if want is None:
        status, out, err = run(*args)
        if status:
            raise Failed(err.strip())
        if not same_rows(sorted(set(triples(out))), sorted(set(found))):
            raise Failed("another graph")
        return
    status, out, err = run(*args, "--format", "json")
    if status:
        raise Failed(err.strip())
    compare_tables(from_json(out), want, t["lax"])


def syntax(t, good):
    status, _, err = run("--check", "--file", path_of(t["query"]))
    if status not in (0, 2):
        raise Failed("status %d: %s" % (status, err.strip()))
    if (status == 0) != good:
        raise Failed(err.strip() if good else "it was taken for SPARQL")


def tests_of(manifest):
    q = """PREFIX mf: <%s> PREFIX qt: <%s> PREFIX rdfs: <%s> PREFIX dawgt: <http://www.w3.org/2001/sw/DataAccess/tests/test-dawg#>
    SELECT ?t ?type ?name ?query ?data ?named ?named2 ?result ?lax ?approval WHERE {
      ?m mf:entries/rdf:rest*/rdf:first ?t . ?t a ?type ; mf:name ?name ; mf:action ?action .
      OPTIONAL { ?action qt:query ?q } BIND(COALESCE(?q, ?action) AS ?query)
      OPTIONAL { ?action qt:data ?data } OPTIONAL { ?action qt:graphData ?named FILTER isIRI(?named) }
      OPTIONAL { ?action qt:graphData/qt:graph ?named2 }
      OPTIONAL { ?t mf:result ?result } OPTIONAL { ?t mf:resultCardinality ?lax } OPTIONAL { ?t dawgt:approval ?approval } }""" % (MF, QT, RDFS)
    status, out, err = run("--data", manifest, "--format", "json", q)
    if status:
        raise SystemExit("%s: %s" % (manifest, err))
    found = {}
    for r in json.loads(out)["results"]["bindings"]:
        t = found.setdefault(r["t"]["value"], {"data": [], "named": [], "types": set(), "lax": "lax" in r})
        t["name"], t["query"], t["result"] = r["name"]["value"], r["query"]["value"], r.get("result", {}).get("value")
        t["types"].add(r["type"]["value"].rsplit("#", 1)[1])
        t["approval"] = r.get("approval", {}).get("value", "")
        for key, to in (("data", "data"), ("named", "named"), ("named2", "named")):
            if key in r and r[key]["value"] not in t[to]:
                t[to].append(r[key]["value"])
    return found


total = passed = 0
for folder, dirs, files in sorted(os.walk(top)):
    if "manifest.ttl" not in files or os.path.basename(folder) in OUT or folder == top or os.path.dirname(folder) == top:
        continue
    for iri, t in sorted(tests_of(os.path.join(folder, "manifest.ttl")).items()):
        name = "%s/%s" % (os.path.relpath(folder, top), iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1])
        kinds = t["types"]
        if pattern and not pattern.search(name):
            continue
        if any("Update" in k for k in kinds) or not t["query"].endswith(".rq"):
            continue
        total += 1
        try:
            if any(k.startswith("NegativeSyntax") for k in kinds):
                syntax(t, False)
            elif any(k.startswith("PositiveSyntax") for k in kinds):
                syntax(t, True)
            else:
                evaluate(t)
            passed += 1
        except Failed as e:
            print("not %s (%s): %s" % (name, t["name"], e))
        except Exception as e:
            print("not %s (%s): %s: %s" % (name, t["name"], type(e).__name__, e))
print("%d of %d" % (passed, total))
sys.exit(0 if passed == total else 1)
