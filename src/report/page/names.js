// names.js - what the page calls files, programs and endings.
const shownStrings = [];
function shown(i) {
	if (i === null)
		return '';
	if (shownStrings[i] === undefined) {
		const exact = raw.exact[i];
		shownStrings[i] = exact === undefined ? escapeText(raw.strings[i]) :
			escapeBytes(bytesOf64(exact));
	}
	return shownStrings[i];
}
const shellWord = (i) => quoteWord(raw.strings[i], raw.exact[i]);
function commandLine(list, brief) {
	return raw.lists[list].map((s, k) => {
		const word = shellWord(s);
		return brief && k === 0 ? word.replace(/^.*\/(?=.)/, '') : word;
	}).join(' ');
}

const cwd = raw.subject.run ? textOf(raw.subject.run, 'cwd') : '';
function pathOf(node, full) {
	const dir = file.dir(node), name = shown(file.base(node));
	if (dir === null)
		return name;
	const whole = shown(dir) + '/' + name;
	return !full && cwd && whole.startsWith(cwd + '/') ? whole.slice(cwd.length + 1) : whole;
}
const names = [];
function nameOf(node) {
	if (names[node] === undefined)
		names[node] = isProgram(node) ? programName(node) : fileName(node);
	return names[node];
}
function programName(node) {
	const argv = x('argv', node);
	return argv !== null && raw.lists[argv].length ? commandLine(argv, true) : shown(x('name', node)) || 'process ' + x('pid', node);
}
function fileName(node) {
	const path = pathOf(node), kind = kindOf(node);
	if (kind === 'regular')
		return path ? path + '@{' + file.n(node) + '}' : 'nameless file';
	return kind === 'pipe' || !path ? kind : kind + ' ' + path.replace(/^inet:/, '');
}

function ending(kind, code) {
	const word = raw.endings[kind];
	return word === 'exited' ? (code === 0 ? 'ok' : 'exit ' + code) : word === 'signaled' ? 'signal ' + code : '?';
}
const failed = (kind, code) => raw.endings[kind] === 'signaled' || (raw.endings[kind] === 'exited' && code !== 0);
const nodeLink = (node, text) => h('a', {href: hrefOf({node: idOf(node)})}, named(text || nameOf(node)));
