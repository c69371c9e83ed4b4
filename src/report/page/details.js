// details.js - all that is known of one file or program.
function edgeNote(e) {
	const is = how(e), parts = [];
	if (is.via !== 'data')
		parts.push('via ' + is.via);
	if (is.evidence && is.evidence !== 'opened')
		parts.push(is.evidence);
	if (is.folded)
		parts.push('folded');
	if (edge.bytes(e) !== null)
		parts.push(size(edge.bytes(e)));
	if (edge.count(e) !== null)
		parts.push(edge.count(e) + ' times');
	const lo = edge.lo(e), program = isProgram(edgeEnds.from[e]) ? edgeEnds.from[e] : edgeEnds.to[e];
	if (lo !== null && isProgram(program)) {
		const from = moment(x('start', program) + (lo <= -2 ? lo + 2 : lo)), hi = edge.hi(e);
		parts.push(when(from, true).slice(11) + (hi === null ? '' : hi < 0 ? ', goes on' : ', ' + duration(hi)));
	}
	return parts.join(', ');
}
function linkList(head, links) {
	if (!links.length)
		return [];
	const most = 200, shownLinks = links.slice(0, most);
	return [h('h3', {}, head + ' (' + links.length + ')'), h('ul', {class: 'list'}, ...shownLinks.map((l) =>
		h('li', {}, possible(how(l.edge).sure), ' ', nodeLink(l.node), ' ', h('span', {class: 'dim'}, edgeNote(l.edge))))),
	links.length > most ? h('p', {class: 'note'}, 'and ' + (links.length - most) + ' more') : null];
}
function notesOf(list) {
	return (list || []).map((n) => h('div', {}, named(escapeText(n.text)), h('span', {class: 'dim'}, ' ' + escapeText(n.user) + ', ' + when(parsed(n.time)))));
}
// A page of its own, where pages are served.
const served = document.documentElement.dataset.served !== undefined;
const pageOf = (kind, id, text) => (served ? h('a', {href: kind + '?' + (kind === 'run' ? 'id' : 'file') + '=' + encodeURIComponent(id)}, text) : null);
const origins = ['', 'modified outside stemma', 'external'];

function fileDetails(node) {
	return [
		facts(['Path', named(pathOf(node, true) || '-')], ['Version', String(file.n(node))], ['Kind', kindOf(node)], ['Size', file.size(node) === null ? '' : size(file.size(node)) + ' (' + file.size(node).toLocaleString('en') + ')'],
			['Written until', file.origin(node) ? '' : file.end(node) === -1 ? 'it is still written' : when(moment(file.end(node)), true)],
			['Modified', file.mtime(node) === null ? '' : when(moment(file.mtime(node)), true)], ['Origin', origins[file.origin(node)]],
			['Other end', file.peer(node) === 1 ? 'was not seen' : ''],
			['Now', kindOf(node) === 'regular' ? (file.current(node) ? 'the last version recorded' : 'replaced or removed since') : ''],
			['Way to it', outside.has(node) ? 'not in the lineage' : isSure(node) ? 'sure' : 'only possible'],
			['Id', h('code', {}, idOf(node))], ['Page', pageOf('file', idOf(node), 'Page of this version')], ['Inode', file.ino(node) === null ? '' : file.ino(node) + (file.gen(node) ? ', generation ' + file.gen(node) : '')],
			['File system', named(shown(file.domain(node)))], ['Notes', notesOf(raw.notes[node])]),
		linkList('Made by', makersOf(node)), isCut(node) ? h('p', {class: 'note'}, 'Who made it is left out of this page.') : null, linkList('Derived from', linked(node, 'wasDerivedFrom', true)), linkList('Used by', readersOf(node)),
		linkList('What is derived from it', linked(node, 'wasDerivedFrom', false)),
	];
}
function listBlock(head, list) {
	if (list === null || !raw.lists[list].length)
		return [];
	return [h('details', {}, h('summary', {}, head + ' (' + raw.lists[list].length + ')'), h('ul', {class: 'list'}, ...raw.lists[list].map((s) => h('li', {}, named(shown(s))))))];
}
function programDetails(node) {
	const r = x('run', node), gaps = x('gaps', node), text = (name) => shown(x(name, node)), figure = (name, f) => (x(name, node) === null ? '' : f(x(name, node)));
	const start = x('start', node), span = x('span', node), argv = x('argv', node), parent = x('parent', node), as = x('as', node);
	return [
		facts(['Command', named(argv === null ? nameOf(node) : commandLine(argv, false))], ['Program', named(text('exe'))], ['Script', text('script') && named(text('script'))],
			['Result', h('span', {class: failed(x('ending', node), x('code', node)) ? 'bad' : ''}, ending(x('ending', node), x('code', node)))],
			['Started', when(moment(start), true)], ['Took', duration(span)], ['CPU time', figure('cpu', duration)],
			['... in programs', figure('user_time', duration)], ['... in the kernel', figure('system_time', duration)],
			['Memory, at most', figure('rss', size)], ['Read', figure('read', size)], ['Written', figure('written', size)],
			['... from storage', figure('storage_read', size)], ['... to storage', figure('storage_written', size)],
			['Who', named([text('user'), text('host')].filter(Boolean).join('@'))], ['Group', text('group') && named(text('group'))], ['Folder', named(text('cwd'))],
			['Process', x('pid', node) + (x('image', node) === 0 ? ', a fork' : x('image', node) > 1 ? ', program ' + x('image', node) + ' in it' : '')],
			['Started by', parent === null ? '' : nodeLink(parent)], ['Counts to', as === null ? '' : nodeLink(as)],
			['Stage', x('stage', node) === null ? '' : named(stageName(x('stage', node)))], ['Job', text('job') && named(text('job'))], ['Step', text('step') && named(text('step'))],
			['Rank', text('rank') && named(text('rank') + (text('ranks') ? ' of ' + text('ranks') : ''))],
			['Run', r === null ? '' : pageOf('run', raw.strings[run.id(r)], shown(run.id(r))) || named(shown(run.id(r)))],
			['Way to it', outside.has(node) ? 'not in the lineage' : isSure(node) ? 'sure' : 'only possible'],
			['Not seen', gaps === null ? '' : h('ul', {class: 'list'}, ...raw.gap_sets[gaps].map((g) => h('li', {}, gapMeaning(g))))],
			['Id', h('code', {}, idOf(node))]),
		linkList('Used', usedBy(node)), linkList('Made', madeBy(node)), linkList('Informed by', linked(node, 'wasInformedBy', true)),
		listBlock('Arguments', argv), listBlock('Environment, as far as it is recorded', x('env', node)),
	];
}
function gapMeaning(reason) {
	const g = raw.gaps.find((one) => one.reason === reason);
	return g ? g.meaning : reason;
}
let detailsOf = null;
function renderDetails() {
	const node = state.node ? nodeOf(state.node) : null, open = node !== null;
	byId('details').hidden = !open;
	byId('columns').classList.toggle('open', open);
	if (!open || detailsOf === node) {
		detailsOf = open ? detailsOf : null;
		return;
	}
	detailsOf = node;
	fill('details-head', isProgram(node) ? 'Program' : kindOf(node) === 'regular' ? 'File' : isData(node) ? 'Object' : 'Stream');
	fill('details-body', h('p', {}, named(nameOf(node))), ...(isProgram(node) ? programDetails(node) : fileDetails(node)).flat(),
		h('p', {}, firstWay(node).length ? h('button', {type: 'button', on: {click: () => reveal(node)}}, 'Show in the lineage') : null));
	byId('details').scrollTop = 0;
}
