// differences.js - what differs from the run or version that the page was made against: it is A, the page's own is B.
const against = raw.against;
const plain = (v) => (v === null || v === undefined ? '' : escapeText(String(v)));
const shortPath = (path) => (cwd && path.startsWith(cwd + '/') ? path.slice(cwd.length + 1) : path);

function versionText(v) {
	const node = nodeOf(v.id), text = '@{' + v.version + '}' + (v.size === null ? '' : ', ' + size(v.size));
	return node === null ? text : h('a', {href: hrefOf({node: v.id})}, text);
}
function changeText(i) {
	const parts = [];
	if (i.changed_by) {
		const by = i.changed_by;
		parts.push((i.kind === 'added' || i.kind === 'removed' ? 'made by ' : 'changed by '), named(by.argv && by.argv.length ? wordsOf(by.argv, by.argv_base64) : textOf(by, 'exe')));
	} else if (i.change_seen === false) {
		parts.push(i.kind === 'added' || i.kind === 'removed' ? 'external to the recorded runs' : 'modified outside the recorded runs');
	}
	if (parts.length && i.changed_at)
		parts.push(', ' + when(parsed(i.changed_at)));
	return parts;
}
// How an item differs, behind its name.
function differenceText(i) {
	if ('content' in i || (i.a && typeof i.a === 'object') || (i.b && typeof i.b === 'object')) {
		if (!i.a || !i.b)
			return [' only in ' + (i.a ? 'A' : 'B') + ' (', versionText(i.a || i.b), ')', i.looked_for_in_vain ? ', the other one looked for it in vain' : '', i.possible ? ', perhaps' : ''];
		const content = i.content === 'same' ? ', the same bytes' : i.content === 'differs' ? ', other bytes' : i.kind === 'rewritten' ? ', made anew; whether the bytes are the same is not known' : '';
		return [' ', versionText(i.a), ' \u2192 ', versionText(i.b), content];
	}
	if (i.rung === 'lines' || i.rung === 'build')
		return [' ', named([i.part, i.name].filter(Boolean).map(plain).join(' ')), h('div', {class: 'sides'}, h('div', {}, 'A ', named(plain(i.a) || '-')), h('div', {}, 'B ', named(plain(i.b) || '-'))), i.rung === 'lines' && i.count > 1 ? h('div', {class: 'dim'}, 'and ' + (i.count - 1) + ' more') : ''];
	if (i.rung === 'executions')
		return [' only in ' + (i.kind === 'added' ? 'B' : 'A') + (i.count > 1 ? ', ' + i.count + ' of them' : '')];
	if (i.rung === 'order')
		return [(i.count > 1 ? ' and ' + (i.count - 1) + ' more' : '') + ' started in another order'];
	const side = (key) => named(key in i && i[key] !== null && i[key] !== '' ? '\u201c' + textOf(i, key) + '\u201d' : 'nothing');
	return [' ', side('a'), ' \u2192 ', side('b'), i.count > 1 ? ', ' + i.count + ' times' : ''];
}
function differenceItem(i) {
	const change = changeText(i), reach = i.reaches ? count(i.reaches, 'output') + (i.reaches === 1 ? ' depends' : ' depend') + ' on it' + (i.reaches_differing ? ', of which ' + i.reaches_differing.toLocaleString('en') + (i.reaches_differing === 1 ? ' differs' : ' differ') : '') : '';
	return h('li', {}, named(shortPath(textOf(i, 'subject'))), ...differenceText(i).map((p) => p), change.length || reach ? h('div', {class: 'dim'}, ...change, change.length && reach ? '; ' : '', reach) : '');
}
function rungBlock(rung) {
	const list = rung.differences, left = rung.left_out ? rung.left_out.differences : 0;
	if (!list.length)
		return null;
	return h('details', {open: list.length <= 12}, h('summary', {}, rung.name + ' (' + (list.length + left).toLocaleString('en') + ')', h('span', {class: 'dim'}, ' ' + rung.meaning)), h('ul', {class: 'list items'}, ...list.map(differenceItem)),
		left ? h('p', {class: 'note'}, 'and ' + left.toLocaleString('en') + ' more (stemma diff --all)') : null);
}
function sourceBlock(source) {
	const lines = source.text.replace(/\n$/, '').split('\n');
	return h('pre', {class: 'source', tabindex: '0', 'aria-label': 'Source around line ' + source.marked}, ...lines.map((line, k) => {
		const number = source.first + k, text = String(number).padStart(5) + '  ' + Array.from(line.replace(/\t/g, '    '), (c) => (c === '\\' ? c : escapeChar(c))).join('') + '\n';
		return number === source.marked ? h('mark', {}, text) : text;
	}));
}
function traceBlock(t) {
	const first = t.divergences[0];
	return h('div', {class: 'trace'}, h('h4', {}, named(textOf(t, 'program')), h('span', {class: 'dim'}, ' thread ' + plain(t.thread))), ...t.divergences.map((d) => h('div', {}, h('p', {}, named(plain(d.words))), h('div', {class: 'sides'}, h('div', {}, 'A ', named(plain(d.a))), h('div', {}, 'B ', named(plain(d.b)))), d.called ? h('div', {class: 'dim'}, 'called in ', named(plain(d.called))) : null, d.source ? sourceBlock(d.source) : null)),
		t.total > t.divergences.length ? h('p', {class: 'note'}, 'and ' + (t.total - t.divergences.length) + ' more (stemma diff --trace)') : null, !first ? h('p', {class: 'note'}, plain(t.verdict)) : null,
		t.threads ? h('p', {class: 'note'}, 'Threads took part, whose order may differ.') : null);
}
function sideName(side) {
	return side.command ? [named(wordsOf(side.command, side.command_base64)), ', ' + when(parsed(side.start)) + ', run ', h('code', {}, plain(side.id))] : [named(shortPath(textOf(side, 'path')) + '@{' + side.version + '}'), ', ' + when(parsed(side.time))];
}
function renderDifferences() {
	if (!against)
		return;
	const d = against.diff, cause = d.first_cause, same = d.rungs.filter((r) => !r.differences.length).map((r) => r.name);
	byId('differences').hidden = false;
	fill('differences-head', 'What differs');
	fill('differences-body', facts(['A', sideName(d.a)], ['B', [...sideName(d.b), ' (this page)']]),
		h('div', {class: 'state gaps'}, cause ? [h('strong', {}, 'Likeliest cause'), ' (' + plain(cause.rung) + '): ', h('ul', {class: 'list items'}, differenceItem(cause))] : d.differs ? 'No recorded difference leads to the outputs.' : 'Nothing that was recorded differs.'),
		...d.rungs.map(rungBlock), same.length ? h('p', {class: 'note'}, 'The same: ' + same.join(', ') + '.') : null,
		h('p', {class: 'note'}, count(d.paired, 'program') + ' paired, ' + d.a.unpaired + ' only in A, ' + d.b.unpaired + ' only in B; ' + d.files_same + ' of ' + count(d.files_compared, 'input and program', 'inputs and programs') + ' the same.'),
		against.traces && against.traces.length ? [h('h3', {}, 'Lines at which programs took different ways'), ...against.traces.map(traceBlock)] : null,
		against.traces_left_out ? h('p', {class: 'note'}, 'and ' + count(against.traces_left_out, 'thread') + ' more') : null, against.traces_failed ? h('p', {class: 'note'}, 'The traces could not be compared: ' + plain(against.traces_failed)) : null);
}
