"""differ.py STEMMA NODE_MODULES COUNT [SEED]: random queries over random graphs, answered by stemma and by Oxigraph (npm's package, in
NODE_MODULES). The rows are compared as multisets; blank nodes count as one thing. Prints what differs, and the counts.

Not drawn is what Oxigraph is known to answer otherwise than the recommendation: (p|p), which is p twice; whether a text with a
language is true; paths without a step that end in a literal which the graph does not have; COUNT(*) of a group without triples that is empty.

Queries are drawn from the whole grammar but without ORDER BY ... LIMIT, SAMPLE, BNODE, NOW and RAND, whose results are not determined."""
import collections, json, os, random, subprocess, sys, tempfile

stemma, modules, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
here = os.path.dirname(os.path.abspath(__file__))
XSD = "http://www.w3.org/2001/XMLSchema#"
other = subprocess.Popen(["node", os.path.join(here, "oxigraph.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, NODE_MODULES=os.path.abspath(modules)))
folder = tempfile.mkdtemp()


class Maker:
    def __init__(self, rng):
        self.r, self.fresh = rng, 0

    def iri(self):
        return ":" + self.r.choice("abcdef")

    def verb(self):
        return ":" + self.r.choice("pqr")

    def literal(self):
        return self.r.choice(["1", "2", "3", "2.5", "1e1", '"x"', '"y"', '"x"@en', "true", "false", '"b"', '"2026-01-02"^^<%sdate>' % XSD])

    def data(self):
        lines = ["@prefix : <http://e/> ."]
        for _ in range(self.r.randint(2, 14)):
            s = self.iri() if self.r.random() < 0.9 else "_:n%d" % self.r.randint(0, 2)
            o = self.r.choice([self.iri, self.iri, self.literal, lambda: "_:n%d" % self.r.randint(0, 2)])()
            lines.append("%s %s %s ." % (s, self.verb(), o))
        return "\n".join(lines)

    def var(self):
        return "?" + self.r.choice("xyzuv")

    def new_var(self):
        self.fresh += 1
        return "?n%d" % self.fresh

    def path(self, depth=2):
        k = self.r.random()
        if depth == 0 or k < 0.35:
            return self.verb()
        if k < 0.5:
            return "(%s)%s" % (self.path(depth - 1), self.r.choice("*+?"))
        if k < 0.65:
            return "(%s/%s)" % (self.path(depth - 1), self.path(depth - 1))
        if k < 0.8:
            a, b = self.path(depth - 1), self.path(depth - 1)
            return "(%s|%s)" % (a, b) if a != b else a
        if k < 0.92:
            return "^(%s)" % self.path(depth - 1)
        return "!(%s|^%s)" % (self.verb(), self.verb())

    def triple(self):
        s = self.var() if self.r.random() < 0.75 else self.iri()
        o = self.r.choice([self.var, self.var, self.var, self.iri, self.literal])()
        k = self.r.random()
        p = self.verb() if k < 0.6 else self.var() if k < 0.7 else self.path()
        if o[0] not in "?:" and ("*" in p or "?" in p[1:]):
            o = self.var()
        return "%s %s %s ." % (s, p, o)

    def expr(self, depth=2):
        k = self.r.random()
        if depth == 0 or k < 0.25:
            return self.r.choice([self.var, self.literal, self.iri])()
        a, b = self.expr(depth - 1), self.expr(depth - 1)
        if k < 0.5:
            return "(%s %s %s)" % (a, self.r.choice(["=", "!=", "<", ">", "<=", ">="]), b)
        if k < 0.6:
            return "(%s %s %s)" % (self.test(depth), self.r.choice(["&&", "||"]), self.test(depth))
        if k < 0.7:
            return "(%s %s %s)" % (a, self.r.choice("+-*"), b)
        if k < 0.78:
            return "BOUND(%s)" % self.var()
        if k < 0.84:
            return "(!%s)" % self.test(depth)
        if k < 0.9:
            return "(%s %sIN (%s, %s))" % (a, self.r.choice(["", "NOT "]), b, self.expr(0))
        return self.r.choice(["STR(%s)", "ISIRI(%s)", "ISLITERAL(%s)", "DATATYPE(%s)", "LANG(%s)", "STRLEN(STR(%s))", "ISNUMERIC(%s)", "ABS(%s)", "COALESCE(%s, 1)", "IF(ISIRI(%s), 1, 2)", "UCASE(STR(%s))"]) % a

    def test(self, depth):
        """A condition that is no text: whether a text with a language is true is told by 1.1 and 1.2 otherwise."""
        return self.r.choice(["(%s = %s)", "(%s < %s)", "(%s != %s)"]) % (self.expr(depth - 1), self.expr(depth - 1))

    def part(self, depth):
        k = self.r.random()
        if depth == 0 or k < 0.4:
            return " ".join(self.triple() for _ in range(self.r.randint(1, 3)))
        if k < 0.55:
            return "OPTIONAL { %s }" % self.group(depth - 1)
        if k < 0.66:
            return "{ %s } UNION { %s }" % (self.group(depth - 1), self.group(depth - 1))
        if k < 0.72:
            return "MINUS { %s }" % self.group(depth - 1)
        if k < 0.84:
            return "FILTER (%s)" % self.test(2)
        if k < 0.88:
            return "FILTER %sEXISTS { %s }" % (self.r.choice(["", "NOT "]), self.triple())
        if k < 0.92:
            return "BIND (%s AS %s)" % (self.expr(), self.new_var())
        if k < 0.96:
            return "VALUES (%s ?w) { (%s %s) (UNDEF %s) }" % (self.var(), self.iri(), self.literal(), self.literal())
        return "{ %s }" % self.select(depth - 1)

    def group(self, depth):
        return " ".join(self.part(depth) for _ in range(self.r.randint(1, 3)))

    def select(self, depth):
        k = self.r.random()
        body = self.triple() + " " + self.group(depth)  # Oxigraph gives no row for COUNT(*) of what is empty by itself; 1.1 wants one
        if k < 0.25:
            v, n = self.var(), self.new_var()
            agg = self.r.choice(["COUNT(%s)", "COUNT(DISTINCT %s)", "SUM(%s)", "MIN(%s)", "MAX(%s)"]) % self.var()
            return "SELECT %s (%s AS %s) { %s } GROUP BY %s" % (v, agg, n, body, v)
        if k < 0.35:
            return "SELECT (COUNT(*) AS %s) { %s }" % (self.new_var(), body)
        return "SELECT %s %s { %s }" % (self.r.choice(["", "DISTINCT"]), " ".join(sorted({self.var() for _ in range(3)})), body)

    def query(self):
        k = self.r.random()
        if k < 0.1:
            return "PREFIX : <http://e/> ASK { %s }" % self.group(2)
        if k < 0.2:
            return "PREFIX : <http://e/> CONSTRUCT { ?x :made ?y } { %s }" % self.group(2)
        return "PREFIX : <http://e/> " + self.select(2)


def norm(t):
    if not t:
        return None
    if t[0] == "l" and t[3] in (XSD + "integer", XSD + "decimal", XSD + "double", XSD + "float"):
        try:
            return ("n", float("%.10g" % float(t[1].replace("INF", "inf"))), t[3])
        except ValueError:
            pass
    return ("b",) if t[0] == "b" else tuple(t)


def mine(data, query):
    path = os.path.join(folder, "d.ttl")
    open(path, "w").write(data)
    triples = "CONSTRUCT" in query
    p = subprocess.run([stemma, "sparql", "--data", "http://e/=" + path, "--format", "turtle" if triples else "json", query], capture_output=True, text=True)
    if p.returncode:
        return {"error": p.stderr.strip()}
    if triples:
        return {"rows": p.stdout.count("\n")}
    doc = json.loads(p.stdout)
    if "boolean" in doc:
        return {"rows": doc["boolean"]}
    rows = []
    for b in doc["results"]["bindings"]:
        row = {}
        for k, c in b.items():
            lang = c.get("xml:lang", "")
            kind = {"uri": "i", "bnode": "b", "literal": "l"}[c["type"]]
            row[k] = norm([kind, c["value"], lang, c.get("datatype", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString" if lang else XSD + "string")] if kind == "l" else [kind, c["value"]])
        rows.append(tuple(sorted(row.items())))
    return {"rows": collections.Counter(rows)}


def theirs(data, query):
    other.stdin.write(json.dumps({"data": data, "query": query}) + "\n")
    other.stdin.flush()
    a = json.loads(other.stdout.readline())
    if "rows" in a and isinstance(a["rows"], list):
        if "CONSTRUCT" in query:
            a["rows"] = len({json.dumps(r) for r in a["rows"]})  # terms with their labels
        else:
            a["rows"] = collections.Counter(tuple(sorted((k, norm(v)) for k, v in r.items() if v)) for r in a["rows"])
    return a


same = differ = refused = 0
for i in range(count):
    m = Maker(random.Random(seed + i))
    data = m.data()
    query = m.query()
    a, b = mine(data, query), theirs(data, query)
    if "error" in a or "error" in b:
        refused += 1
        if ("error" in a) != ("error" in b):
            print("seed %d: only one refuses: %s | %s\n  %s" % (seed + i, a.get("error"), b.get("error"), query))
            differ += 1
        continue
    if a["rows"] == b["rows"]:
        same += 1
        continue
    differ += 1
    if isinstance(a["rows"], collections.Counter) and isinstance(b["rows"], collections.Counter):
        print("seed %d: only here %s\n  only there %s\n  %s\n  %s" % (seed + i, dict(a["rows"] - b["rows"]), dict(b["rows"] - a["rows"]), query, data.replace("\n", " ")))
    else:
        print("seed %d: %s, there %s\n  %s\n  %s" % (seed + i, a["rows"], b["rows"], query, data.replace("\n", " ")))
print("%d same, %d refused by both or one, %d differ" % (same, refused, differ))
sys.exit(differ != 0)
