// state.js - what is looked at, as the fragment of the address has it: a copied address shows the same.
const fields = ['at', 'node', 'q', 'sure', 'of', 'stage', 'from', 'to', 'open', 'files', 'programs', 'minor'];
let state = readState();

function readState() {
	const given = new URLSearchParams(location.hash.slice(1)), s = {};
	for (const name of fields)
		s[name] = given.get(name) || '';
	return s;
}
function hrefOf(change) {
	const p = new URLSearchParams();
	for (const name of fields) {
		const value = name in change ? change[name] : name === 'at' ? '' : state[name];
		if (value)
			p.set(name, value);
	}
	return '#' + p.toString();
}
// Another state. quiet: no step back to the one before.
function go(change, quiet) {
	const href = hrefOf(change);
	if (href === location.hash || (href === '#' && !location.hash))
		return;
	if (quiet)
		location.replace(href);
	else
		location.hash = href;
}
const filtered = () => Boolean(state.q || state.sure || state.of || state.stage || state.from || state.to);

// Does a node pass the filter?
function filterOf(s) {
	const words = s.q.toLowerCase().split(/\s+/).filter(Boolean), from = Date.parse(s.from), to = Date.parse(s.to);
	return (node) => {
		if (s.sure && isSure(node) !== (s.sure === 'yes'))
			return false;
		if (s.of && (s.of === 'source' ? !isSource(node) : s.of === 'failed' ? !isProgram(node) || !failed(x('ending', node), x('code', node)) :
			kindOf(node) !== s.of))
			return false;
		if (s.stage && String(stageOf(node)) !== s.stage)
			return false;
		const t = timeOf(node);
		if ((!isNaN(from) && !(t >= from)) || (!isNaN(to) && !(t !== null && t < to + 1000)))
			return false;
		const name = words.length ? nameOf(node).toLowerCase() : '';
		return words.every((w) => name.includes(w));
	};
}
// The stage of an execution, or of who made a file.
function stageOf(node) {
	if (isProgram(node))
		return x('stage', node);
	for (const m of makersOf(node))
		if (x('stage', m.node) !== null)
			return x('stage', m.node);
	return null;
}
const stageName = (i) => shown(stage.kind(i)) + ' ' + (stage.name(i) === null ? '?' : shown(stage.name(i))) + (stage.job(i) === null ? '' : ' (' + shown(stage.job(i)) + ')');
