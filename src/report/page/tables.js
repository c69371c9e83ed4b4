// tables.js - tables that are sorted by a click on a head.
// A column: {name, label, num?, when?, value(node) to sort by, cell(node)}.
function sortTable(key, label, cols, nodes, first) {
	const [by, down] = (state[key] || first).split('-'), col = cols.find((c) => c.name === by) || cols[0];
	const keyed = nodes.map((node) => [col.value(node), node]);
	const order = (a, b) => {
		if (a[0] === b[0])
			return a[1] - b[1];
		if (a[0] === null || b[0] === null)
			return a[0] === null ? 1 : -1;
		const less = typeof a[0] === 'string' ? a[0].localeCompare(b[0], 'en', {numeric: true}) : a[0] - b[0];
		return down ? -less : less;
	};
	keyed.sort(order);
	const most = printing ? 3000 : tableRows[key] || 100;
	const head = h('tr', {}, ...cols.map((c) => h('th', {scope: 'col', class: c.num ? 'num' : null, 'aria-sort': c === col ? (down ? 'descending' : 'ascending') : null},
		h('button', {type: 'button', on: {click: () => go({[key]: c.name + (c === col ? (down ? '' : '-down') : c.num ? '-down' : '')}, true)}}, c.label))));
	const body = keyed.slice(0, most).map(([, node]) => h('tr', {class: state.node && state.node === idOf(node) ? 'chosen' : null}, ...cols.map((c, k) => (k === 0 ?
		h('th', {scope: 'row', class: 'name'}, c.cell(node)) : h('td', {class: c.num ? 'num' : c.when ? 'when' : null}, ...[c.cell(node)].flat())))));
	const left = keyed.length - most;
	return [h('div', {class: 'scroll', role: 'region', 'aria-label': 'Table of ' + label.toLowerCase(), tabindex: '0'}, h('table', {}, h('caption', {}, label), h('thead', {}, head), h('tbody', {}, ...body))),
		left > 0 ? h('p', {class: 'note'}, h('button', {type: 'button', class: 'more', on: {click: () => {
			tableRows[key] = most + 400;
			renderTables();
		}}}, 'Show more'), ' ' + count(left, 'row') + ' are not shown') : null];
}
const tableRows = {};

// Bytes over edges: {n, whole}; whole: they are known of all.
function bytesOf(links) {
	let n = 0, known = 0;
	for (const l of links)
		if (edge.bytes(l.edge) !== null) {
			n += edge.bytes(l.edge);
			known++;
		}
	return {n: known ? n : null, whole: known === links.length};
}
function bytesCell(links) {
	const b = bytesOf(links);
	return b.n === null || (b.n === 0 && !b.whole) ? '' : (b.whole ? '' : '\u2265 ') + size(b.n);
}
// What a run left behind: of each name the last version, if nothing read it.
const resultNodes = (() => {
	const last = new Map();
	for (const n of roots) {
		const name = pathOf(n, true), other = last.get(name);
		if (isData(n) && (other === undefined || file.n(n) > file.n(other)))
			last.set(name, n);
	}
	// First what is there still, and last what lies in hidden folders: the state of tools, not what people asked for.
	const rank = (n) => (/\/\.[^/]/.test(pathOf(n, true)) ? 2 : 0) + (file.current(n) ? 0 : 1);
	return Array.from(last.values()).filter((n) => !readersOf(n).length).sort((a, b) => rank(a) - rank(b));
})();
const resultSet = new Set(resultNodes), rootSet = new Set(roots);
// What it came from: of a run what it used and did not make, of a file where its lineage ends.
let inputs = null;
function inputNodes() {
	if (inputs)
		return inputs;
	const row = runRow(), here = (links) => links.some((l) => x('run', l.node) === row);
	inputs = new Set(nodesWhere((n) => (isRun ? isData(n) && here(readersOf(n)) && !here(makersOf(n)) : isSource(n) && !rootSet.has(n))));
	return inputs;
}
function roleOf(node) {
	if (resultSet.has(node))
		return 'result';
	return inputNodes().has(node) ? 'input' : isSource(node) ? 'source' : isCut(node) ? 'cut off' : 'between';
}
const fileColumns = [
	{name: 'path', label: 'File', value: nameOf, cell: (n) => nodeLink(n)},
	{name: 'role', label: 'Role', value: roleOf, cell: roleOf},
	{name: 'size', label: 'Size', num: true, value: (n) => file.size(n), cell: (n) => (file.size(n) === null ? '' : size(file.size(n)))},
	{name: 'time', label: 'Written', when: true, value: timeOf, cell: (n) => when(timeOf(n))},
	{name: 'makers', label: 'Made by', num: true, value: (n) => makersOf(n).length, cell: (n) => String(makersOf(n).length || '')},
	{name: 'readers', label: 'Used by', num: true, value: (n) => readersOf(n).length, cell: (n) => String(readersOf(n).length || '')},
	{name: 'in', label: 'Bytes written', num: true, value: (n) => bytesOf(makersOf(n)).n, cell: (n) => bytesCell(makersOf(n))},
	{name: 'out', label: 'Bytes read', num: true, value: (n) => bytesOf(readersOf(n)).n, cell: (n) => bytesCell(readersOf(n))},
	{name: 'sure', label: 'Sure', value: (n) => (isSure(n) ? 0 : 1), cell: (n) => (outside.has(n) ? '' : isSure(n) ? 'sure' : h('span', {class: 'maybe'}, 'possible'))},
];
const figureColumn = (name, label, f) => ({name, label, num: true, value: (n) => x(name, n), cell: (n) => (x(name, n) === null ? '' : f(x(name, n)))});
const programColumns = [
	{name: 'command', label: 'Command', value: nameOf, cell: (n) => nodeLink(n)},
	{name: 'start', label: 'Started', when: true, value: (n) => x('start', n), cell: (n) => when(moment(x('start', n)))},
	figureColumn('span', 'Took', duration),
	{name: 'result', label: 'Result', value: (n) => ending(x('ending', n), x('code', n)), cell: (n) => h('span', {class: failed(x('ending', n), x('code', n)) ? 'bad' : null}, ending(x('ending', n), x('code', n)))},
	figureColumn('cpu', 'CPU time', duration), figureColumn('rss', 'Memory', size), figureColumn('read', 'Read', size), figureColumn('written', 'Written', size),
];
if (raw.stages.rows)
	programColumns.push({name: 'stage', label: 'Stage', value: (n) => (x('stage', n) === null ? null : stageName(x('stage', n))), cell: (n) => (x('stage', n) === null ? '' : named(stageName(x('stage', n))))});

function nodesWhere(test) {
	const all = [];
	for (let i = 0; i < NODES; i++)
		if (test(i))
			all.push(i);
	return all;
}
function renderTables() {
	const passes = filtered() ? filterOf(state) : () => true, note = filtered() ? ' that pass the filter' : '';
	const files = nodesWhere((n) => isData(n) && passes(n));
	const counted = EDGES > 0 && nodesWhere(isData).some((n) => bytesOf(makersOf(n)).n > 0 || bytesOf(readersOf(n)).n > 0);
	fill('files-body', h('p', {class: 'note'}, count(files.length, 'version of a file', 'versions of files') + note + '. Made by and used by count the programs of this page.' + (counted ? '' : ' Bytes by file are known where a run was recorded with --count or --exact.')),
		...sortTable('files', 'Files', counted ? fileColumns : fileColumns.filter((c) => c.name !== 'in' && c.name !== 'out'), files, 'role-down'));
	const all = nodesWhere((n) => isProgram(n) && passes(n)), listed = state.minor ? all : all.filter((n) => !isMinor(n));
	fill('programs-body', h('p', {class: 'note'}, count(listed.length, 'program') + note + '. ', all.length > listed.length || state.minor ?
		h('label', {}, h('input', {type: 'checkbox', id: 'minor', checked: Boolean(state.minor), on: {change: (e) => go({minor: e.target.checked ? '1' : ''}, true)}}),
			' also forks, and those that only start others or count to another one') : null),
	...sortTable('programs', 'Programs', programColumns, listed, 'start'));
}
