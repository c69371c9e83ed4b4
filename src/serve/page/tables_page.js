// tables_page.js - runs by settings and metrics, to sort and to plot; and what the record shows of runs.

// ---- settings and metrics ----

const numberOf = (v) => (typeof v === 'number' ? v : typeof v === 'string' && /^[-+.0-9eE]+$/.test(v) ? Number(v) : NaN);
const cellText = (v) => (v === undefined ? '' : typeof v === 'number' ? String(Number(v.toPrecision(7))) : escapeText(v));
const tableState = new URLSearchParams(location.search);
let tableRows = [];
function columnsOf(rows, key) {
	const names = new Set();
	for (const row of rows)
		for (const name of Object.keys(row[key]))
			names.add(name);
	return Array.from(names).sort();
}
// The fragment has the state: the column that is sorted by, the direction, and the axes of the plot.
const viewOf = () => new URLSearchParams(location.hash.slice(1));
function setView(change) {
	const view = viewOf();
	for (const [name, value] of Object.entries(change))
		view.set(name, value);
	location.hash = view.toString();
}
const valueIn = (row, column) => (column.startsWith('m:') ? row.metrics[column.slice(2)] : row.configuration[column.slice(2)]);
function compareRows(column, down) {
	return (a, b) => {
		const x = valueIn(a, column), y = valueIn(b, column), nx = numberOf(x), ny = numberOf(y);
		if (x === undefined || y === undefined)
			return (x === undefined) - (y === undefined);
		const c = isNaN(nx) || isNaN(ny) ? (isNaN(nx) - isNaN(ny)) || (isNaN(nx) ? String(x).localeCompare(String(y)) : 0) : nx - ny;
		return down && !isNaN(nx) && !isNaN(ny) ? -c : c;
	};
}
function tableHead(column, name, view) {
	const on = view.get('by') === column, down = view.get('order') !== 'up';
	return h('th', {scope: 'col', class: column.startsWith('m:') ? 'num' : '', 'aria-sort': on ? (down ? 'descending' : 'ascending') : null},
		h('button', {type: 'button', on: {click: () => setView({by: column, order: on && down ? 'up' : 'down'})}}, named(escapeText(name))));
}
function scatter(rows, x, y) {
	const points = rows.map((row) => [numberOf(valueIn(row, x)), numberOf(valueIn(row, y)), row.run]).filter((p) => !isNaN(p[0]) && !isNaN(p[1]));
	if (points.length < 2)
		return h('p', {class: 'note'}, 'Fewer than two runs have numbers for both.');
	const wide = 720, high = 300, span = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))], [x0, x1] = span(0), [y0, y1] = span(1);
	const across = (v) => 80 + (x1 > x0 ? (v - x0) / (x1 - x0) : 0.5) * (wide - 110), up = (v) => high - 40 - (y1 > y0 ? (v - y0) / (y1 - y0) : 0.5) * (high - 60), short = (v) => String(Number(v.toPrecision(4)));
	const grid = [];
	for (let k = 0; k <= 4; k++) {
		const gx = 80 + k / 4 * (wide - 110), gy = high - 40 - k / 4 * (high - 60);
		grid.push(h('svg:line', {x1: gx, x2: gx, y1: 20, y2: high - 40, class: 'grid'}), h('svg:line', {x1: 80, x2: wide - 30, y1: gy, y2: gy, class: 'grid'}));
		if (x1 > x0 || k === 2)
			grid.push(h('svg:text', {x: gx, y: high - 24, 'text-anchor': 'middle'}, short(x0 + (x1 > x0 ? k / 4 : 0) * (x1 - x0))));
		if (y1 > y0 || k === 2)
			grid.push(h('svg:text', {x: 74, y: gy + 4, 'text-anchor': 'end'}, short(y0 + (y1 > y0 ? k / 4 : 0) * (y1 - y0))));
	}
	const label = escapeText(y.slice(2)) + ' over ' + escapeText(x.slice(2));
	return h('figure', {}, h('figcaption', {}, named(label)), h('svg:svg', {viewBox: '0 0 ' + wide + ' ' + high, role: 'group', 'aria-label': label}, ...grid,
		...points.map((p) => h('svg:a', {href: 'run?id=' + encodeURIComponent(p[2])}, h('svg:circle', {class: 'point', cx: across(p[0]), cy: up(p[1]), r: 5}, h('svg:title', {}, p[2] + ': ' + short(p[0]) + ', ' + short(p[1])))))));
}
function chooserOf(id, label, columns, chosen) {
	return h('label', {}, label + ' ', h('select', {id, on: {change: (e) => setView({[id]: e.target.value})}}, ...columns.map((c) => h('option', {value: c, selected: c === chosen}, escapeText(c.slice(2))))));
}
function renderSettingsTable() {
	const view = viewOf(), settings = columnsOf(tableRows, 'configuration').map((n) => 'c:' + n), metrics = columnsOf(tableRows, 'metrics').map((n) => 'm:' + n), all = settings.concat(metrics);
	const by = all.includes(view.get('by')) ? view.get('by') : null, rows = by ? tableRows.slice().sort(compareRows(by, view.get('order') !== 'up')) : tableRows;
	fill('byline', count(tableRows.length, 'run') + ', ' + count(settings.length, 'setting') + ', ' + count(metrics.length, 'metric'));
	if (!tableRows.length || !all.length) {
		fill('list-body', h('p', {class: 'note'}, 'No run has told settings or metrics.'));
		return;
	}
	const best = by && by.startsWith('m:') && rows.length && !isNaN(numberOf(valueIn(rows[0], by))) ? rows[0] : null;
	fill('list-body', best ? h('p', {}, (view.get('order') === 'up' ? 'The lowest ' : 'The highest '), named(escapeText(by.slice(2))), ': ', cellText(valueIn(best, by)), ', run ', pageLink('run', best.run, best.run)) : h('p', {class: 'note'}, 'The head of a column sorts by it: highest first, then lowest.'),
		h('div', {class: 'scroll site-table', tabindex: '0', role: 'region', 'aria-label': 'Settings and metrics'}, h('table', {}, h('caption', {}, 'Settings and metrics'), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Run'), ...all.map((c) => tableHead(c, c.slice(2), view)))),
			h('tbody', {}, ...rows.map((row) => h('tr', {class: row === best ? 'chosen' : null}, h('th', {scope: 'row', class: 'name'}, pageLink('run', row.run, row.run)), ...all.map((c) => h('td', {class: isNaN(numberOf(valueIn(row, c))) ? '' : 'num'}, named(cellText(valueIn(row, c)))))))))));
	const numeric = all.filter((c) => tableRows.filter((row) => !isNaN(numberOf(valueIn(row, c)))).length > 1), x = numeric.includes(view.get('x')) ? view.get('x') : numeric[0], y = numeric.includes(view.get('y')) ? view.get('y') : numeric.find((c) => c.startsWith('m:')) || numeric[0];
	fill('more', numeric.length ? [h('h3', {}, 'Plot'), h('p', {class: 'tools'}, chooserOf('y', 'Up', numeric, y), ' ', chooserOf('x', 'across', numeric, x)), scatter(tableRows, x, y)] : []);
}
async function showTable() {
	const query = new URLSearchParams();
	for (const name of ['where', 'of'])
		if (tableState.get(name))
			query.set(name, tableState.get(name));
	tableRows = (await ask('table?' + query.toString())).rows;
	renderSettingsTable();
	addEventListener('hashchange', renderSettingsTable);
}

// ---- what the record shows of runs ----

const isShown = (o) => o && typeof o === 'object' && !Array.isArray(o) && Object.values(o).length > 0 && Object.values(o).every((v) => v && Array.isArray(v.values));
function shownTable(name, o) {
	const rows = Object.entries(o).filter(([k]) => !k.endsWith('_base64')).map(([k, v]) => h('tr', {}, h('th', {scope: 'row', class: 'name'}, named(escapeText(k))), h('td', {}, ...v.values.slice(0, 20).map((one) => h('div', {}, named(escapeText(typeof one === 'string' ? one : JSON.stringify(one))))), v.values.length > 20 ? 'and ' + (v.values.length - 20) + ' more' : null), h('td', {}, v.varied ? h('span', {class: 'bad'}, 'varied') : 'the same')));
	return [h('h3', {}, escapeText(name.replace(/_/g, ' '))), h('div', {class: 'scroll site-table', tabindex: '0', role: 'region', 'aria-label': name}, h('table', {}, h('caption', {}, name), h('thead', {}, h('tr', {}, ...['Name', 'Value', 'In all runs'].map((t) => h('th', {scope: 'col'}, t)))), h('tbody', {}, ...rows)))];
}
async function showTrust() {
	const o = await ask('trust?id=' + encodeURIComponent(tableState.get('id') || '')), plain = Object.entries(o).filter(([k, v]) => !isShown(v) && k !== 'format' && k !== 'runs' && v !== null && !(Array.isArray(v) && !v.length) && !(typeof v === 'object' && !Array.isArray(v) && !Object.keys(v).length));
	fill('byline', count(o.runs.length, 'run'));
	fill('list-body', h('ul', {class: 'list'}, ...o.runs.map((id) => h('li', {}, pageLink('run', id, id)))), facts(...plain.map(([k, v]) => [escapeText(k.replace(/_/g, ' ')), named(escapeText(Array.isArray(v) && v.every((one) => typeof one !== 'object') ? v.join(', ') : typeof v === 'object' ? JSON.stringify(v) : String(v)))])),
		...Object.entries(o).filter(([, v]) => isShown(v)).map(([k, v]) => shownTable(k, v)).flat());
}
