// main.js - puts it together.
const sections = [['live', 'Running'], ['overview', 'Overview'], ['differences', 'Differences'], ['lineage', 'Lineage'], ['picture', 'Picture'], ['reads', 'Who reads what'], ['files', 'Files'], ['programs', 'Programs'], ['resources', 'Resources'], ['settings', 'Settings']];

let waiting = 0; // a timer, while what was typed is not the state yet
function writeFilter() {
	if (waiting)
		return;
	for (const name of ['q', 'sure', 'of', 'stage', 'from', 'to'])
		if (byId(name).value !== state[name])
			byId(name).value = state[name];
}
function renderNav() {
	fill('sections', ...sections.filter(([id]) => !byId(id).hidden).map(([id, label]) => h('li', {}, h('a', {href: hrefOf({at: id}), 'aria-current': state.at === id ? 'true' : null}, label))));
}
function fillFilter() {
	const kinds = new Set();
	for (let i = 0; i < NODES; i++)
		kinds.add(kindOf(i));
	const option = (value, label) => h('option', {value}, label);
	fill('of', option('', 'all'), ...Array.from(kinds).sort().map((k) => option(k, k === 'regular' ? 'file' : k)), option('source', 'file that nobody made'), option('failed', 'program that failed'));
	fill('stage', option('', 'all'), ...Array.from({length: raw.stages.rows}, (_, i) => option(String(i), stageName(i))));
	byId('stage-label').hidden = !raw.stages.rows;
}
function render(before) {
	const changed = (...list) => !before || list.some((f) => before[f] !== state[f]);
	renderNav();
	renderDetails();
	const refold = changed('open') && !(before && state.open === writeOpen(opened)); // else it is shown so already
	if (refold)
		opened = readOpen();
	if (changed('q', 'sure', 'of', 'stage', 'from', 'to', 'minor')) {
		writeFilter();
		rowsShown = before ? ROWS : rowsShown;
		renderLineage();
	} else if (refold && !filtered()) {
		renderTree();
	}
	if (changed('q', 'sure', 'of', 'stage', 'from', 'to', 'files', 'programs', 'minor'))
		renderTables();
	if (changed('node') && !filtered())
		for (const e of byId('tree').querySelectorAll('[data-row]'))
			e.setAttribute('aria-selected', String(idOf(rows[Number(e.dataset.row)].node) === state.node));
	if (state.at && byId(state.at) && sections.some(([id]) => id === state.at)) {
		byId(state.at).scrollIntoView();
		if (before)
			byId(state.at + '-head').focus({preventScroll: true});
	}
}
function filterChanged() {
	clearTimeout(waiting);
	waiting = setTimeout(() => {
		const change = {};
		waiting = 0;
		for (const name of ['q', 'sure', 'of', 'stage', 'from', 'to'])
			change[name] = byId(name).value;
		go(change, true);
	}, 120);
}
function closeDetails() {
	go({node: ''});
	const row = byId('tree').querySelector('[tabindex="0"]');
	if (row)
		row.focus({preventScroll: true});
}
byId('skip').addEventListener('click', () => byId('lineage-head').focus());
byId('filter').addEventListener('input', filterChanged);
byId('filter').addEventListener('reset', () => setTimeout(filterChanged));
byId('filter').addEventListener('submit', (e) => e.preventDefault());
byId('unfold').addEventListener('click', () => go({open: 'all'}, true));
byId('fold').addEventListener('click', () => go({open: 'none'}, true));
byId('close').addEventListener('click', closeDetails);
addEventListener('keydown', (e) => {
	if (e.key === 'Escape' && state.node)
		closeDetails();
});
addEventListener('hashchange', () => {
	const before = state;
	state = readState();
	render(before);
});
for (const [name, value] of [['beforeprint', true], ['afterprint', false]])
	addEventListener(name, () => {
		printing = value;
		renderLineage();
		renderTables();
	});
fillFilter();
renderHead();
renderComplete();
renderOverview();
renderDifferences();
renderResources();
renderSettings();
renderLineageNotes();
renderPicture();
renderReads();
render(null);
