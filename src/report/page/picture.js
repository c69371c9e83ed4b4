// picture.js - the lineage as a picture, whose boxes the maker of the page has placed; and who reads what, as a table.
const COLUMNS = 30, NAMES_SORTED = (list) => list.slice().sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
// At most so many characters; of a path the end stays.
function fitted(text, most, ofPath) {
	const all = Array.from(text);
	if (all.length <= most)
		return text;
	return ofPath ? '\u2026' + all.slice(all.length - most + 1).join('') : all.slice(0, most - 1).join('') + '\u2026';
}
const boxWords = {file: 'file', source: 'file', stream: 'stream', program: 'program', stage: 'stage'};
function boxNote(box) {
	const [node] = box.nodes, word = boxWords[box.kind];
	if (box.each)
		return 'one in each';
	if (box.nodes.length > 1)
		return count(box.nodes.length, word) + (box.alike ? ', alike' : box.nodes.length > box.lines ? ', ' + (box.nodes.length - box.lines) + ' not named here' : '');
	return isProgram(node) ? when(timeOf(node)) : [size(file.size(node)), when(timeOf(node))].filter((t) => t && t !== '?').join(', ');
}
function boxRects(box) {
	const rects = [], stack = (box.alike && !box.each) || (box.kind === 'frame' && box.nodes.length > 1) ? [8, 4, 0] : [0];
	for (const d of stack)
		rects.push(h('svg:rect', {class: box.kind + (box.root ? ' root' : ''), x: box.x + d, y: box.y + d, width: box.w, height: box.h, rx: box.kind === 'file' || box.kind === 'source' || box.kind === 'stream' ? 0 : 6}));
	return rects;
}
function frameParts(box) {
	const name = box.nodes.length ? stageName(box.nodes[0]) : '';
	return h('svg:g', {}, ...boxRects(box), h('svg:text', {x: box.x + 10, y: box.y + 16, class: 'name'}, fitted(box.nodes.length > 1 ? name.replace(/ \([^()]*\)$/, '') : name, COLUMNS - 10, false) + (box.nodes.length > 1 ? ' (' + box.nodes.length + ' alike)' : '')));
}
function boxParts(box) {
	const sorted = box.alike ? NAMES_SORTED(box.nodes) : box.nodes, ofPath = !isProgram(box.nodes[0]), lines = [];
	for (let i = 0; i < box.lines; i++) {
		const last = box.alike && i > 0, y = box.y + 18 + 16 * i, text = nameOf(last ? sorted[sorted.length - 1] : sorted[i]);
		if (last)
			lines.push(h('svg:text', {x: box.x + 8, y, class: 'note'}, 'to'));
		lines.push(h('svg:text', {x: box.x + (last ? 30 : 8), y, class: 'name', direction: 'ltr'}, fitted(text, last ? COLUMNS - 3 : COLUMNS, ofPath)));
	}
	const note = boxNote(box), all = nameOf(sorted[0]) + (sorted.length > 1 ? ' and ' + (sorted.length - 1) + ' more' : '');
	return h('svg:a', {class: 'box', href: hrefOf({node: idOf(sorted[0])}), on: {click: (e) => {
		e.preventDefault();
		go({node: idOf(sorted[0])});
	}}}, h('svg:title', {}, all + (note ? ', ' + note : '')), ...boxRects(box), ...lines, h('svg:text', {x: box.x + 8, y: box.y + 17 + 16 * box.lines, class: 'note'}, note));
}
function linkPath(link) {
	const p = link.points;
	let d = 'M' + p[0] + ' ' + p[1];
	for (let i = 2; i < p.length; i += 2) {
		const middle = (p[i - 1] + p[i + 1]) / 2;
		d += p[i] === p[i - 2] ? 'V' + p[i + 1] : 'C' + [p[i - 2], middle, p[i], middle, p[i], p[i + 1]].join(' ');
	}
	const [x, y] = p.slice(-2);
	return [h('svg:path', {d, class: 'link' + (link.sure ? '' : ' possible')}), h('svg:path', {d: 'M' + (x - 4) + ' ' + (y - 8) + 'L' + (x + 4) + ' ' + (y - 8) + 'L' + x + ' ' + y + 'Z', class: 'arrow'})];
}
const legendRows = [['file', 'file made by what is shown'], ['source', 'file from outside'], ['stream', 'stream, terminal or socket'], ['program', 'program'], ['stage', 'stage of a workflow'], ['frame', 'programs of one stage']];
function pictureLegend(p) {
	const rows = legendRows.filter(([kind]) => p.boxes.some((b) => b.kind === kind)).map(([kind, text]) => h('li', {}, h('svg:svg', {width: 22, height: 14, viewBox: '0 0 22 14', 'aria-hidden': 'true'}, h('svg:rect', {class: kind, x: 1, y: 1, width: 20, height: 12, rx: 2})), ' ' + text));
	if (p.links.some((l) => !l.sure))
		rows.push(h('li', {}, 'a broken arrow: only possible'));
	return h('ul', {class: 'legend'}, ...rows);
}
function renderPicture() {
	const p = raw.picture;
	byId('picture').hidden = !p || !p.boxes.length;
	if (!p || !p.boxes.length)
		return;
	const frames = p.boxes.filter((b) => b.kind === 'frame'), boxes = p.boxes.filter((b) => b.kind !== 'frame' && b.nodes.length);
	fill('picture-body', h('p', {class: 'note'}, 'Data flows downwards. Boxes that are alike are one. A box shows its details; the tree above has the same.'),
		h('div', {class: 'scroll drawing', tabindex: '0', role: 'region', 'aria-label': 'The lineage as a picture'}, h('svg:svg', {width: p.w + 24, height: p.h + 24, viewBox: '-8 -8 ' + (p.w + 24) + ' ' + (p.h + 24), role: 'group', 'aria-label': 'Lineage, ' + count(boxes.length, 'box', 'boxes')}, ...frames.map(frameParts), ...p.links.map(linkPath).flat(), ...boxes.map(boxParts))), pictureLegend(p));
	const around = byId('picture-body').querySelector('.drawing');
	around.scrollLeft = (around.scrollWidth - around.clientWidth) / 2;
}

// ---- who reads what ----

function renderReads() {
	const r = raw.reads, cells = new Map(r.cells.map(([row, column, n, sure]) => [row + ' ' + column, [n, sure]])), most = Math.max(1, ...r.cells.map((c) => c[2]));
	byId('reads').hidden = !r.cells.length;
	if (!r.cells.length)
		return;
	const rows = r.files.map((f, i) => h('tr', {}, h('th', {scope: 'row', class: 'name'}, named(f.name), f.files > 1 ? h('span', {class: 'dim'}, ' ' + count(f.files, 'file')) : null), ...r.programs.map((_, k) => {
		const c = cells.get(i + ' ' + k);
		return c ? h('td', {class: 'heat h' + Math.ceil(5 * c[0] / most)}, c[0].toLocaleString('en'), possible(c[1])) : h('td', {});
	})));
	const left = [r.left_out_files ? count(r.left_out_files, 'row') + ' with fewer readers' : '', r.left_out_programs ? count(r.left_out_programs, 'kind') + ' of programs with fewer files' : ''].filter(Boolean);
	fill('reads-body', h('p', {class: 'note'}, 'How many programs of a kind used each file.' + (left.length ? ' Left out: ' + left.join(', ') + '.' : '')),
		h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of who reads what'}, h('table', {class: 'heatmap'}, h('caption', {}, 'Who reads what'), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'File'), ...r.programs.map((p) => h('th', {scope: 'col', class: 'turned'}, named(p.name))))), h('tbody', {}, ...rows))));
}
