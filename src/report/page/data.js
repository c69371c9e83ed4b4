// data.js - what the page is about, out of the JSON beside it. Nodes are numbers: first the files, then the executions.
const raw = JSON.parse(document.getElementById('data').textContent);
const FILES = raw.files.rows, NODES = FILES + raw.executions.rows, EDGES = raw.edges.rows;

// A column as a function of the row. What is not known is null.
function column(table, name) {
	const c = raw[table][name];
	if (Array.isArray(c))
		return (i) => c[i];
	if (!c.at.length)
		return () => c.else;
	const all = new Array(raw[table].rows).fill(c.else);
	for (let i = 0, row = 0; i < c.at.length; i++) {
		row += c.at[i];
		all[row] = c.values[i];
	}
	return (i) => all[i];
}
function columns(table) {
	const all = {};
	for (const name of Object.keys(raw[table]))
		if (name !== 'rows')
			all[name] = column(table, name);
	return all;
}
const file = columns('files'), execution = columns('executions'), edge = columns('edges'), run = columns('runs'),
	stage = columns('stages');
const isProgram = (node) => node >= FILES;
const x = (name, node) => execution[name](node - FILES); // of an execution, by its node

// The id by which commands know a node.
function idOf(node) {
	const bytes = atob(raw.ids.substr(node * 16, 16));
	let id = isProgram(node) ? 'x' : 'v';
	for (let i = 0; i < bytes.length; i++)
		id += bytes.charCodeAt(i).toString(16).padStart(2, '0');
	return id;
}
let nodesById = null;
function nodeOf(id) {
	if (!nodesById) {
		nodesById = new Map();
		for (let i = 0; i < NODES; i++)
			nodesById.set(idOf(i), i);
	}
	return nodesById.has(id) ? nodesById.get(id) : null;
}

// Rows by node: those of node i are list[first[i]] to list[first[i + 1] - 1].
function index(of, rows) {
	const first = new Int32Array(NODES + 2), list = new Int32Array(rows);
	for (let i = 0; i < rows; i++)
		first[of[i] + 2]++;
	for (let i = 2; i < NODES + 2; i++)
		first[i] += first[i - 1];
	for (let i = 0; i < rows; i++)
		list[first[of[i] + 1]++] = i;
	return (node) => list.subarray(first[node], first[node + 1]);
}
const edgeEnds = {from: new Int32Array(EDGES), to: new Int32Array(EDGES)};
for (let i = 0, last = 0; i < EDGES; i++) {
	last += edge.from(i);
	edgeEnds.from[i] = last;
	edgeEnds.to[i] = edge.to(i);
}
const branch = columns('branches'), branchEnds = {from: new Int32Array(raw.branches.rows), to: new Int32Array(raw.branches.rows)};
for (let i = 0, e = 0; i < raw.branches.rows; i++) {
	e += branch.edge(i);
	branchEnds.from[i] = branch.from(i) === null ? edgeEnds.from[e] : branch.from(i);
	branchEnds.to[i] = branch.to(i) === null ? edgeEnds.to[e] : branch.to(i);
}
const edgesFrom = index(edgeEnds.from, EDGES), edgesTo = index(edgeEnds.to, EDGES);
const branchesFrom = index(branchEnds.from, raw.branches.rows), branchesTo = index(branchEnds.to, raw.branches.rows);
const how = (e) => raw.hows[edge.how(e)];
const unsure = new Set(raw.unsure), outside = new Set(raw.outside);
const roots = raw.subject.roots;

// Is every way from a root to it only possible?
const isSure = (node) => !unsure.has(node);
// What made a file, what an execution used, ...: edges of a type, with the node at their other end.
function linked(node, type, forward) {
	const all = [];
	for (const e of forward ? edgesFrom(node) : edgesTo(node))
		if (how(e).type === type)
			all.push({edge: e, node: forward ? edgeEnds.to[e] : edgeEnds.from[e]});
	return all;
}
const makersOf = (node) => linked(node, 'wasGeneratedBy', true), readersOf = (node) => linked(node, 'used', false);
const usedBy = (node) => linked(node, 'used', true), madeBy = (node) => linked(node, 'wasGeneratedBy', false);

// A word for what a node is.
function kindOf(node) {
	return isProgram(node) ? 'program' : raw.kinds[file.kind(node)] || 'file';
}
// Files, and objects of HDF5 files; no streams.
const dataKinds = new Set(['regular', 'group', 'dataset', 'attribute', 'datatype', 'softlink', 'xattr']);
const isData = (node) => !isProgram(node) && dataKinds.has(kindOf(node));
// A file that nobody was seen making, or that was modified outside stemma: what a lineage ends at.
const isSource = (node) => isData(node) && file.origin(node) !== 0 && !makersOf(node).length;
// Somebody was seen making it, who has no place in the page.
const isCut = (node) => isData(node) && file.origin(node) === 0 && !makersOf(node).length;
const isMinor = (node) => isProgram(node) && x('minor', node) === 1;

// Moments are milliseconds since 1970, and what is smaller than that is in the number's fraction.
const base = Number(BigInt(raw.base) / 1000n) / 1000;
const moment = (t) => (t === null ? null : base + t / 1000);
function timeOf(node) {
	if (isProgram(node))
		return moment(x('start', node));
	const t = file.origin(node) === 0 && file.end(node) !== -1 ? file.end(node) : file.mtime(node);
	return moment(t);
}
