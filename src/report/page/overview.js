// overview.js - what is said at the top: what it is, by whom, whether it is all; and the settings.
const subject = raw.subject, about = subject.run || null, isRun = subject.kind === 'run';
const texts = (object) => Object.entries(object || {}).filter(([k]) => !k.endsWith('_base64'));

function resultOf(exit) {
	if (!exit)
		return about && about.recording === 'running' ? h('span', {class: 'good'}, 'running when this page was made') : h('span', {class: 'bad'}, 'its end is not known');
	const bad = exit.signal !== undefined || exit.status !== 0;
	return h('span', {class: bad ? 'bad' : 'good'}, exit.signal !== undefined ? 'signal ' + exit.signal : exit.status === 0 ? 'ended well (0)' : 'exit status ' + exit.status);
}
function runRow() {
	for (let i = 0; i < raw.runs.rows; i++)
		if (about && run.id(i) !== null && raw.strings[run.id(i)] === about.id)
			return i;
	return null;
}
function spanOf(a) {
	const from = parsed(a.start), to = parsed(a.end);
	return from === null || to === null ? '?' : duration(Math.round((to - from) * 1000));
}
function renderHead() {
	const row = runRow(), command = row === null ? '' : commandLine(run.argv(row), true);
	const title = isRun ? command : nameOf(roots[0]);
	fill('kind', isRun ? 'Run ' + escapeText(about.id) : 'File');
	fill('title', named(title));
	document.title = title + ' - stemma report';
	if (about)
		fill('byline', named(textOf(about, 'user') + '@' + textOf(about, 'host')), ', ' + when(parsed(about.start)) + ', took ' + spanOf(about) + ', ', resultOf(about.exit));
	fill('made', 'Made by stemma ' + raw.stemma + '. Times are those of this reader\u2019s zone. Names are written as the commands write them: what could not be seen or could mislead stands as \\n, \\x1b and the like.');
}
function renderComplete() {
	const items = raw.gaps.map((g) => h('li', {}, g.meaning, g.executions ? [' (', nodeLink(g.first), g.executions > 1 ? ' and ' + (g.executions - 1) + ' more)' : ')'] : ''));
	if (raw.damage.places || raw.damage.recordings)
		items.push(h('li', {}, 'part of the record is damaged: ' + count(raw.damage.places, 'place') + ' cannot be read, ' + count(raw.damage.recordings, 'recording') + ' lack a part'));
	if (raw.left_out)
		items.push(h('li', {}, count(raw.left_out, 'file and program', 'files and programs') + ' farther away are left out of this page (--nodes)'));
	const may = EDGES ? Array.from({length: EDGES}, (_, e) => e).filter((e) => !how(e).sure).length : 0;
	const links = may ? ' ' + count(may, 'link') + ' of ' + EDGES.toLocaleString('en') + (may === 1 ? ' is' : ' are') + ' only possible, and marked so.' : '';
	fill('complete', raw.complete ? h('p', {class: 'state whole'}, 'Complete: nothing is known to be missing.' + links) :
		h('div', {class: 'state gaps'}, 'Not complete. What could not be seen:', h('ul', {}, ...items.map((i) => i)), links ? h('p', {class: 'note'}, links) : null));
}
// A few nodes, and how many more there are.
function someNodes(head, list, where, note) {
	const most = 12;
	return h('div', {}, h('h3', {}, head + ' (' + list.length.toLocaleString('en') + ')'), list.length ? h('ul', {class: 'list'}, ...list.slice(0, most).map((l) => h('li', {}, possible(l.sure), ' ', nodeLink(l.node), ' ', h('span', {class: 'dim'}, note(l))))) : h('p', {class: 'note'}, 'none'),
		list.length > most ? h('p', {class: 'note'}, h('a', {href: hrefOf(where)}, 'all ' + list.length)) : null);
}
const fileNote = (l) => [ file.size(l.node) === null ? '' : size(file.size(l.node))].filter(Boolean).join(', ');
function programsUsed() {
	const by = new Map();
	for (let n = FILES; n < NODES; n++) {
		if (isMinor(n) || x('exe', n) === null)
			continue;
		const key = shown(x('exe', n)) + (x('script', n) === null ? '' : '  ' + shown(x('script', n)));
		const one = by.get(key) || {key, n: 0, cpu: 0, known: true};
		one.n++;
		one.cpu += x('cpu', n) || 0;
		one.known = one.known && x('cpu', n) !== null;
		by.set(key, one);
	}
	const list = Array.from(by.values()).sort((a, b) => b.n - a.n || (a.key < b.key ? -1 : 1)), most = 15;
	return h('div', {}, h('h3', {}, 'Programs (' + list.length + ')'), h('ul', {class: 'list'}, ...list.slice(0, most).map((p) => h('li', {}, named(p.key), ' ', h('span', {class: 'dim'}, count(p.n, 'time') + ', ' + (p.known ? '' : 'at least ') + duration(p.cpu) + ' of CPU time')))),
		list.length > most ? h('p', {class: 'note'}, 'and ' + (list.length - most) + ' more') : null);
}
function renderOverview() {
	const why = raw.why, row = runRow();
	const linkOf = (m) => h('div', {}, possible(m.sure), ' ', nodeLink(m.node), m.role && m.role !== 'input' ? h('span', {class: 'dim'}, ' ' + m.role) : null);
	const top = isRun ? [] : [['File', named(pathOf(roots[0], true))], ['Version', file.n(roots[0]) + (file.current(roots[0]) ? ', the last one recorded' : ', replaced or removed since')], ['Size', size(file.size(roots[0]))], ['Written', when(timeOf(roots[0]))],
		['Made by', why && why.makers.length ? why.makers.slice(0, 20).map(linkOf) : 'nobody who was recorded'], ['From', why ? why.inputs.slice(0, 20).map(linkOf) : '']];
	const rest = about ? [['Command', row === null ? '' : named(commandLine(run.argv(row), false))], ['Result', resultOf(about.exit)], ['Who', named(textOf(about, 'user') + (about.group ? ' (' + textOf(about, 'group') + ')' : ''))],
		['Where', named(textOf(about, 'host') + ':' + textOf(about, 'cwd'))], ['When', when(parsed(about.start)) + ' to ' + when(parsed(about.end)) + ' (' + spanOf(about) + ')'], ['Run', h('code', {}, escapeText(about.id))],
		['Recorded', escapeText(about.mode || '')], ['Within', about.outer ? h('code', {}, escapeText(about.outer)) : ''], ['Labels', texts(about.labels).map(([k]) => h('div', {}, named(escapeText(k) + '=' + textOf(about.labels, k))))], ['Notes', notesOf(about.notes)]] : [];
	const results = resultNodes.map((node) => ({node, sure: true}));
	const from = Array.from(inputNodes()).map((node) => ({node, sure: isSure(node)}));
	fill('overview-body', facts(...top, ...rest, ['In the record', served && isRun && about ? h('a', {href: 'trust?id=' + encodeURIComponent(about.id)}, 'What it shows: inputs, settings, results') : '']), h('div', {class: 'pair'}, isRun ? someNodes('Results', results, {at: 'files', files: 'role-down'}, fileNote) : null, someNodes('Inputs', from, isRun ? {at: 'files', files: 'role-down'} : {at: 'lineage', of: 'source'}, fileNote), programsUsed()));
}
function pairTable(label, heads, pairs) {
	return h('div', {class: 'scroll', role: 'region', 'aria-label': 'Table of ' + label.toLowerCase(), tabindex: '0'}, h('table', {}, h('caption', {}, label), h('thead', {}, h('tr', {}, ...heads.map((t) => h('th', {scope: 'col'}, t)))),
		h('tbody', {}, ...pairs.map((p) => h('tr', {}, h('th', {scope: 'row', class: 'name'}, named(p[0])), ...p.slice(1).map((v) => h('td', {class: 'name'}, named(v))))))));
}
function firstProgram() {
	let first = null;
	const row = runRow();
	for (let n = FILES; n < NODES; n++)
		if (x('env', n) !== null && x('run', n) === row && (first === null || x('start', n) < x('start', first)))
			first = n;
	return first;
}
function renderSettings() {
	const out = [], first = firstProgram(), told = about && about.annotations ? about.annotations : {};
	const value = (v) => (typeof v === 'string' ? escapeText(v) : String(v));
	if (told.configuration)
		out.push(h('h3', {}, 'Settings that programs told'), pairTable('Settings that programs told', ['Name', 'Value'], told.configuration.map((c) => [escapeText(c.name), value(c.value)])));
	if (told.metrics)
		out.push(h('h3', {}, 'Figures that programs told'), pairTable('Figures that programs told', ['Name', 'Value', 'Step'], told.metrics.map((m) => [escapeText(m.name), value(m.value), m.step === undefined ? '' : String(m.step)])));
	if (told.left_out)
		out.push(h('p', {class: 'note'}, 'Only the first of them are shown.'));
	if (about && texts(about.machine).length)
		out.push(h('h3', {}, 'Machine'), pairTable('Machine', ['What', 'Value'], texts(about.machine).map(([k]) => [escapeText(k), textOf(about.machine, k)])));
	if (first !== null)
		out.push(h('h3', {}, 'Environment of ', nodeLink(first)), pairTable('Environment', ['Variable', 'Value'], raw.lists[x('env', first)].map((s) => {
			const text = shown(s), eq = text.indexOf('=');
			return eq < 0 ? [text, ''] : [text.slice(0, eq), text.slice(eq + 1)];
		})), h('p', {class: 'note'}, 'Only variables on a list are recorded (stemma-run(1)).'));
	fill('settings-body', out.length ? out : h('p', {class: 'note'}, 'None are recorded.'));
}
function renderLineageNotes() {
	const words = {system: 'system files', absent: 'paths that were absent', cache: 'links of caches', fork: 'links by fork', shm: 'links by shared memory', sync: 'links of coordination', uncertain: 'uncertain links', unread: 'files not read', unseen: 'links unseen', object: 'objects of HDF5 files', empty: 'links to what is empty', container: 'HDF5 files'};
	const parts = Object.entries(raw.omitted).map(([k, n]) => n.toLocaleString('en') + ' ' + (words[k] || k));
	const minor = nodesWhere((n) => isProgram(n) && !outside.has(n)).length - nodesWhere((n) => isProgram(n) && arrivedBy.has(n)).length;
	fill('lineage-notes', parts.length ? 'Left out, as stemma lineage does: ' + parts.join(', ') + '. ' : '', minor > 0 ? count(minor, 'program') + ' count to another one and stand in the table of programs.' : '');
}
