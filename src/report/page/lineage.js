// lineage.js - the lineage as a tree to fold, and what a search finds as a list. Each node unfolds where it comes first.
const ROWS = 300; // are shown at once; more are asked for
let rowsShown = ROWS, current = null, opened = new Set(), printing = false;

// Which nodes the tree begins with: roots that nothing else shown came from.
const tops = (() => {
	const top = roots.filter((r) => !Array.from(branchesTo(r)).some((b) => branchEnds.from[b] !== r));
	return top.length ? top : roots.slice(0, 1);
})();
// The branches of a node, what is sure first.
function firstBranches(node) {
	const doubt = (b) => (branch.sure(b) === 0 ? 2 : 0) + (branch.words(b) === null ? 0 : 1);
	return Array.from(branchesFrom(node)).filter((b) => branchEnds.to[b] !== node).sort((a, b) => doubt(a) - doubt(b));
}
// By which branch each node is first come to, from the tops.
const arrivedBy = (() => {
	const by = new Map(tops.map((t) => [t, -1])), queue = tops.slice();
	for (let i = 0; i < queue.length; i++)
		for (const b of branchesFrom(queue[i]))
			if (!by.has(branchEnds.to[b])) {
				by.set(branchEnds.to[b], b);
				queue.push(branchEnds.to[b]);
			}
	return by;
})();
// The nodes from a top down to a node; [] where it is not shown, as what counts to another.
function firstWay(node) {
	const way = [];
	if (isProgram(node) && !arrivedBy.has(node) && x('as', node) !== null)
		node = x('as', node);
	if (!arrivedBy.has(node))
		return way;
	for (let at = node; ; at = branchEnds.from[arrivedBy.get(at)]) {
		way.unshift(at);
		if (arrivedBy.get(at) < 0)
			return way;
	}
}

// The unfolded nodes: small lineages whole, of large ones what lies next to the tops.
function openAtFirst() {
	const small = arrivedBy.size <= 150;
	return new Set(small ? arrivedBy.keys() : tops.length <= 20 ? tops : []);
}
function readOpen() {
	if (!state.open)
		return openAtFirst();
	if (state.open === 'all')
		return new Set(arrivedBy.keys());
	return new Set(state.open === 'none' ? [] : state.open.split('.').map((n) => parseInt(n, 36)).filter((n) => n < NODES));
}
function writeOpen(set) {
	const list = Array.from(set).sort((a, b) => a - b);
	if (list.length > 400) // addresses have an end; it stays open as long as the page is
		return state.open;
	return list.length === 0 ? 'none' : list.map((n) => n.toString(36)).join('.');
}

// The rows of the tree: {node, level, branch, again, has, open}.
function treeRows() {
	const rows = [], met = new Set(), stack = tops.slice().reverse().map((t) => ({node: t, level: 1, branch: null, at: 1, of: 1}));
	while (stack.length) {
		const row = stack.pop(), children = firstBranches(row.node);
		row.again = met.has(row.node);
		row.has = children.length > 0 && !row.again;
		row.open = row.has && opened.has(row.node);
		met.add(row.node);
		rows.push(row);
		if (row.open)
			for (let k = children.length - 1; k >= 0; k--)
				stack.push({node: branchEnds.to[children[k]], level: row.level + 1, branch: children[k], at: k + 1, of: children.length});
	}
	return rows;
}
const marks = {regular: '\u25a1', program: '\u2699', pipe: '\u2016', fifo: '\u2016', socket: '\u21c4', terminal: '\u2328', shm: '\u25a4'};

function noteOf(node) {
	const parts = [];
	if (isProgram(node)) {
		parts.push(when(moment(x('start', node))), duration(x('span', node)));
		if (failed(x('ending', node), x('code', node)))
			parts.push(ending(x('ending', node), x('code', node)));
		if (x('stage', node) !== null)
			parts.push(stageName(x('stage', node)));
	} else if (isData(node)) {
		parts.push(size(file.size(node)), when(timeOf(node)));
		if (file.origin(node))
			parts.push(file.origin(node) === 2 ? 'external' : 'modified outside stemma');
		if (isCut(node))
			parts.push('who made it is left out');
	} else if (file.peer(node) === 1) {
		parts.push('the other end was not seen');
	}
	return parts.filter((p) => p && p !== '?').join(', ');
}
function rowContent(row) {
	const node = row.node, words = row.branch === null ? '' : shown(branch.words(row.branch)), sure = row.branch === null || branch.sure(row.branch) !== 0;
	const above = row.again && firstBranches(node).length > 0;
	return [h('span', {class: 'kindmark', 'aria-hidden': 'true'}, marks[kindOf(node)] || '\u25a1'),
		h('span', {class: 'what'}, possible(sure), sure ? null : ' ', words ? h('span', {class: 'dim'}, words) : null, named(nameOf(node)), ' ', h('span', {class: 'dim'}, noteOf(node) + (above ? ' \u2191 shown above' : '')))];
}
function treeRow(row, i) {
	const chosen = state.node === idOf(row.node);
	const e = h('div', {role: 'treeitem', class: 'row' + (isProgram(row.node) ? ' program' : ''), 'aria-level': row.level, 'aria-setsize': row.of, 'aria-posinset': row.at,
		'aria-expanded': row.has ? String(row.open) : null, 'aria-selected': String(chosen), tabindex: '-1', 'data-row': i},
	h('span', {class: 'fold', 'aria-hidden': 'true'}, row.has ? (row.open ? '\u25be' : '\u25b8') : ''), ...rowContent(row));
	e.style.paddingLeft = 'calc(.5rem + ' + Math.min(row.level - 1, 24) * (innerWidth < 600 ? 0.55 : 1.15) + 'rem)';
	return e;
}

let rows = [];
function renderTree() {
	rows = treeRows();
	const most = printing ? 3000 : rowsShown;
	const tree = h('div', {role: 'tree', 'aria-label': 'Lineage', on: {keydown: treeKey, click: treeClick}}, ...rows.slice(0, most).map(treeRow));
	fill('tree', tree, moreButton(rows.length - most, renderLineage));
	fill('lineage-count', count(arrivedBy.size, 'file, program and stream', 'files, programs and streams') + ' in the lineage, ' + count(rows.length, 'row') + ' unfolded');
	const at = current !== null ? rows.findIndex((r) => r.node === current) : 0, first = tree.children[at >= 0 ? at : 0];
	if (first)
		first.tabIndex = 0;
}
function moreButton(left, again) {
	return left <= 0 ? null : h('p', {class: 'note'}, h('button', {type: 'button', class: 'more', on: {click: () => {
		rowsShown += ROWS;
		again();
	}}}, 'Show more'), ' ' + count(left, 'row') + ' are not shown');
}
function renderHits() {
	const passes = filterOf(state), hits = [];
	for (let i = 0; i < NODES; i++)
		if (passes(i) && (state.minor || !isMinor(i) || state.q))
			hits.push(i);
	const most = printing ? 3000 : rowsShown;
	fill('tree', h('ul', {class: 'hits list', 'aria-label': 'What was found'}, ...hits.slice(0, most).map((node) =>
		h('li', {class: 'row' + (isProgram(node) ? ' program' : '')}, h('span', {class: 'kindmark', 'aria-hidden': 'true'}, marks[kindOf(node)] || '\u25a1'),
			h('span', {class: 'what'}, possible(isSure(node)), ' ', nodeLink(node), ' ', h('span', {class: 'dim'}, noteOf(node)))))), moreButton(hits.length - most, renderLineage));
	fill('lineage-count', hits.length ? count(hits.length, 'hit') + ', nearest the results first' : 'Nothing is found.');
}
function renderLineage() {
	byId('lineage-tools').hidden = filtered() || !roots.length;
	if (filtered())
		renderHits();
	else if (roots.length)
		renderTree();
	else {
		fill('tree');
		fill('lineage-count', 'The run made no file that is recorded, so there is no lineage. Its files and programs are below.');
	}
}

function focusRow(i) {
	const e = byId('tree').querySelector('[data-row="' + i + '"]');
	for (const old of byId('tree').querySelectorAll('[tabindex="0"]'))
		if (old.getAttribute('role') === 'treeitem')
			old.tabIndex = -1;
	if (e) {
		e.tabIndex = 0;
		e.focus();
		current = rows[i].node;
	}
}
function setOpen(node, open) {
	current = node;
	if (open)
		opened.add(node);
	else
		opened.delete(node);
	const focused = document.activeElement && document.activeElement.getAttribute('role') === 'treeitem';
	go({open: writeOpen(opened)}, true);
	renderTree();
	if (focused)
		focusRow(rows.findIndex((r) => r.node === node && !r.again));
}
function treeClick(event) {
	const e = event.target.closest('[data-row]'), row = e && rows[Number(e.dataset.row)];
	if (!row)
		return;
	if (event.target.classList.contains('fold') && row.has) {
		setOpen(row.node, !row.open);
		return;
	}
	focusRow(Number(e.dataset.row));
	go({node: idOf(row.node)});
}
function treeKey(event) {
	const e = event.target.closest('[data-row]');
	if (!e || event.altKey || event.ctrlKey || event.metaKey)
		return;
	const i = Number(e.dataset.row), row = rows[i];
	const parent = () => {
		let k = i - 1;
		while (k >= 0 && rows[k].level >= row.level)
			k--;
		return k;
	};
	const keys = {
		ArrowDown: () => focusRow(Math.min(i + 1, rows.length - 1)), ArrowUp: () => focusRow(Math.max(i - 1, 0)),
		Home: () => focusRow(0), End: () => focusRow(Math.min(rows.length, rowsShown) - 1),
		ArrowRight: () => (row.has && !row.open ? setOpen(row.node, true) : row.open ? focusRow(i + 1) : null),
		ArrowLeft: () => (row.open ? setOpen(row.node, false) : parent() >= 0 ? focusRow(parent()) : null),
		Enter: () => go({node: idOf(row.node)}), ' ': () => go({node: idOf(row.node)}),
	};
	if (!keys[event.key])
		return;
	event.preventDefault();
	keys[event.key]();
}
// Unfolds the way to a node and goes there.
function reveal(node) {
	const way = firstWay(node), target = way[way.length - 1];
	for (const n of way.slice(0, -1))
		opened.add(n);
	current = target;
	go({open: writeOpen(opened), q: '', sure: '', of: '', stage: '', from: '', to: ''}, true);
	state = readState();
	writeFilter();
	rows = treeRows();
	const i = rows.findIndex((r) => r.node === target && !r.again);
	rowsShown = Math.max(rowsShown, i + 50);
	renderLineage();
	focusRow(i);
	const e = byId('tree').querySelector('[data-row="' + i + '"]');
	if (e)
		e.scrollIntoView({block: 'center'});
}
