// site.js - the runs of the record, and what was found in it: the JSON of the server as tables. Texts of the record come to
// the page by textContent alone (text.js).
const PAGE = 50, REFRESH = 5000; // rows; ms, where there are no events
const searching = /\/search$/.test(location.pathname);
const asked = new URLSearchParams(location.search).get('q') || '';

async function ask(path) {
	const answer = await fetch('api/v1/' + path), o = await answer.json();
	if (!answer.ok)
		throw Object.assign(new Error(o.detail || answer.statusText), {hint: o.hint || ''});
	byId('complete').replaceChildren(...(answer.headers.get('Stemma-Record') === 'damaged' ?
		[h('p', {class: 'state gaps'}, 'A part of the record is damaged and cannot be read. What is shown may be incomplete.')] : []));
	return o;
}
function say(text) {
	fill('said', text);
}
function sayError(e) {
	say(escapeText(e.message) + (e.hint ? ' (' + escapeText(e.hint) + ')' : ''));
}

// ---- tables ----

function table(caption, heads, rows) {
	return h('div', {class: 'scroll site-table', tabindex: '0', role: 'region', 'aria-label': caption}, h('table', {}, h('caption', {}, caption),
		h('thead', {}, h('tr', {}, ...heads.map(([text, kind]) => h('th', {scope: 'col', class: kind}, text)))), h('tbody', {}, ...rows)));
}
const cell = (kind, ...children) => h('td', {class: kind}, ...children);
const pageLink = (kind, id, text) => h('a', {href: kind + '?' + (kind === 'run' ? 'id' : 'file') + '=' + encodeURIComponent(id)}, named(text));
const number = (n) => (n === null || n === undefined ? '?' : n.toLocaleString('en'));
const commandOf = (o, key) => wordsOf(o[key] || [], (o[key + '_base64'] || []).map((t, k) => (textOfBase64(t) === (o[key][k]) ? undefined : t))) || '?';
function textOfBase64(text) {
	try {
		return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytesOf64(text));
	} catch (e) {
		return null;
	}
}
function resultOf(run) {
	if (!run.exit)
		return run.standby ? h('span', {}, h('span', {class: 'good'}, 'running'), h('span', {class: 'dim', 'data-progress': run.id}, progressOf(run.id))) : h('span', {class: 'bad'}, 'end not known');
	const bad = run.exit.signal !== undefined || run.exit.status !== 0;
	return h('span', {class: bad ? 'bad' : 'good'}, run.exit.signal !== undefined ? 'signal ' + run.exit.signal : run.exit.status === 0 ? 'ok' : 'exit ' + run.exit.status);
}
// How far a run is, and what it uses now, by the last event.
let progress = new Map();
function progressOf(id) {
	const one = progress.get(id), now = one && one.now;
	return one && one.executions !== undefined ? ', ' + [count(one.executions, 'program'), count(one.outputs, 'output'), now && now.memory_resident !== undefined ? size(now.memory_resident) : '', now ? count(now.processes, 'process', 'processes') : ''].filter(Boolean).join(', ') : '';
}
function tookOf(o) {
	const from = parsed(o.start), to = parsed(o.end);
	return from === null || to === null ? '?' : duration(Math.round((to - from) * 1000));
}
const chosen = new Set();
function chooser(run) {
	return h('input', {type: 'checkbox', 'aria-label': 'compare the run ' + run.id, checked: chosen.has(run.id), on: {change: (e) => {
		if (e.target.checked)
			chosen.add(run.id);
		else
			chosen.delete(run.id);
		renderTools();
	}}});
}
function runsTable(runs, choose) {
	return table('Runs', [...(choose ? [[h('span', {class: 'said'}, 'Compare'), '']] : []), ['Command', 'name'], ['Result', ''], ['Started', 'when'], ['Took', 'num'], ['Who', ''], ['Inputs', 'num'], ['Outputs', 'num']],
		runs.map((run) => h('tr', {}, choose ? cell('', chooser(run)) : null,
			h('th', {scope: 'row', class: 'name'}, pageLink('run', run.id, commandOf(run, 'command'))),
			cell('', possible(run.certainty !== 'may'), ' ', resultOf(run)), cell('when', when(parsed(run.start))), cell('num', tookOf(run)), cell('', named(textOf(run, 'user') + '@' + textOf(run, 'host'))), cell('num', number(run.inputs)), cell('num', number(run.outputs)))));
}
function filesTable(files) {
	return table('Files', [['File', 'name'], ['Size', 'num'], ['Written', 'when'], ['Now', '']],
		files.map((f) => h('tr', {}, h('th', {scope: 'row', class: 'name'}, possible(f.certainty !== 'may'), ' ', pageLink('file', f.id, textOf(f, 'path') + (f.kind === 'regular' ? '@{' + f.version + '}' : ' (' + f.kind + ')'))),
			cell('num', size(f.size)), cell('when', when(parsed(f.time))), cell('', f.current === undefined ? '' : f.current ? 'latest' : 'replaced'))));
}
function executionsTable(list) {
	return table('Programs', [['Command', 'name'], ['Started', 'when'], ['Result', ''], ['Run', '']],
		list.map((e) => h('tr', {}, h('th', {scope: 'row', class: 'name'}, possible(e.certainty !== 'may'), ' ', named(commandOf(e, 'argv'))),
			cell('when', when(parsed(e.start))), cell('', resultOf(e)), cell('', e.run ? pageLink('run', e.run, e.run) : '?'))));
}

// ---- the runs ----

let runs = [], next = null, shownText = '', later = 0;
function renderTools() {
	const two = Array.from(chosen);
	fill('tools', h('button', {type: 'button', disabled: two.length !== 2, on: {click: () => {
		const at = (id) => runs.findIndex((run) => run.id === id), [a, b] = two.sort((x, y) => at(y) - at(x));
		location.href = 'compare?a=' + encodeURIComponent(a) + '&b=' + encodeURIComponent(b);
	}}}, 'Compare the two chosen runs'), ' ', h('span', {class: 'dim'}, two.length === 2 ? '' : 'tick two runs'));
}
function renderRuns() {
	const going = runs.filter((run) => !run.exit && run.standby).length;
	fill('byline', count(runs.length, 'run') + (next ? ' and older ones' : '') + (going ? ', ' + going + ' running' : ''));
	fill('list-body', runs.length ? runsTable(runs, true) : h('p', {class: 'note'}, 'Nothing is recorded yet.'));
	fill('more', next ? h('button', {type: 'button', class: 'more', on: {click: () => older().catch(sayError)}}, 'Older runs') : null);
	renderTools();
}
async function older() {
	const page = await ask('runs?limit=' + PAGE + '&cursor=' + encodeURIComponent(next)), first = runs.length;
	runs = runs.concat(page.runs);
	next = page.next || null;
	renderRuns();
	const row = byId('list-body').querySelectorAll('tbody th a')[first];
	if (row)
		row.focus();
}
// What is new since, in front of what is shown; nothing moves while somebody is in the table.
async function refresh() {
	const page = await ask('runs?limit=' + Math.min(Math.max(runs.length, PAGE), 1000)), text = JSON.stringify(page);
	if (text === shownText)
		return;
	if (shownText && byId('list-body').contains(document.activeElement)) {
		clearTimeout(later);
		later = setTimeout(() => refresh().catch(sayError), REFRESH);
		return;
	}
	shownText = text;
	runs = page.runs.concat(runs.slice(page.runs.length));
	if (runs.length === page.runs.length)
		next = page.next || null;
	renderRuns();
	say('');
}
async function keepFresh() {
	if (!document.hidden)
		await refresh().catch(sayError);
	setTimeout(keepFresh, REFRESH);
}
// Runs that begin or end are asked for anew; what changes in between is written into the row. Without events the list is
// asked for again and again.
function listen() {
	const events = new EventSource('api/v1/events');
	let states = '';
	events.addEventListener('progress', (e) => {
		const list = JSON.parse(e.data).runs, now = list.map((r) => r.id + r.recording + (r.exit ? '!' : '')).join(' ');
		progress = new Map(list.map((r) => [r.id, r]));
		for (const cell of document.querySelectorAll('[data-progress]'))
			cell.textContent = progressOf(cell.dataset.progress);
		if (now === states)
			return;
		states = now;
		refresh().catch(sayError);
	});
	events.addEventListener('error', () => {
		if (events.readyState === EventSource.CLOSED)
			keepFresh();
	});
}

// ---- search ----

// An expression of `stemma find`, or a part of a path.
const words = /^\(?\s*(used|made|from|into|exe|arg|user|host|in|exit|since|before|job|label|stage|run|path|not|files|runs|execs|executions|results)\s/;
const expressionOf = (text) => (words.test(text) ? text : "path '*" + text.replace(/['\\]/g, '?') + "*'");
const found = [];
async function find(cursor) {
	const o = await ask('find?limit=' + PAGE + '&q=' + encodeURIComponent(expressionOf(asked)) + (cursor ? '&cursor=' + encodeURIComponent(cursor) : ''));
	found.push(...(o.entities || o.runs || o.executions));
	fill('list-body', !found.length ? h('p', {class: 'note'}, 'Nothing was found.') : o.runs ? runsTable(found, false) : o.executions ? executionsTable(found) : filesTable(found));
	fill('byline', count(found.length, 'row') + (o.next ? ' and more' : ''));
	fill('more', o.next ? h('button', {type: 'button', class: 'more', on: {click: () => find(o.next).catch(sayError)}}, 'More') : null);
}

