// text.js - values as people read them, and elements. Texts of the record come to the page by textContent alone, and what
// could change how a line is read (control characters, marks of direction) stands as an escape, as the commands write it.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const short = {'\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\'};
const hex = (byte) => '\\x' + byte.toString(16).padStart(2, '0');

function escapeChar(c) {
	if (short[c])
		return short[c];
	return unsafe.test(c) ? Array.from(new TextEncoder().encode(c), hex).join('') : c;
}
function escapeText(text) {
	return Array.from(text, escapeChar).join('');
}
// Bytes that are no UTF-8 throughout: what is text stands as text.
function escapeBytes(bytes) {
	let out = '';
	for (let i = 0; i < bytes.length;) {
		let n = bytes[i] < 0x80 ? 1 : bytes[i] >= 0xf0 ? 4 : bytes[i] >= 0xe0 ? 3 : 2, c = null;
		try {
			c = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes.subarray(i, i + n));
		} catch (e) {
			n = 1;
		}
		out += c === null ? hex(bytes[i]) : escapeText(c);
		i += n;
	}
	return out;
}
const bytesOf64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
// A text of the commands' JSON, which has what is no UTF-8 exactly in a twin.
function textOf(o, key) {
	return typeof o[key + '_base64'] === 'string' ? escapeBytes(bytesOf64(o[key + '_base64'])) : escapeText(String(o[key]));
}

// An argument as a shell would take it again. exact: its bytes, where it is no UTF-8.
function quoteWord(text, exact) {
	if (exact !== undefined || unsafe.test(text))
		return "$'" + (exact === undefined ? escapeText(text) : escapeBytes(bytesOf64(exact))).replace(/'/g, "\\'") + "'";
	return text !== '' && /^[\p{L}\p{N}%+,\-./:=@_^{}]+$/u.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
}
const wordsOf = (argv, exact) => argv.map((w, k) => quoteWord(w, exact ? exact[k] : undefined)).join(' ');
function size(n) {
	if (n === null || n === undefined)
		return '?';
	if (n < 1024)
		return n + ' B';
	let v = n / 1024, u = 0;
	for (; v >= 1023.95 && u < 5; u++)
		v /= 1024;
	return v.toFixed(1) + ' ' + 'KMGTPE'[u] + 'iB';
}
// us: microseconds; -1 of what has not ended.
function duration(us) {
	const two = (n) => String(Math.floor(n)).padStart(2, '0');
	if (us === null || us === undefined)
		return '?';
	if (us < 0)
		return '-';
	const s = us / 1e6;
	if (s < 1)
		return us < 1000 ? us + ' \u00b5s' : Math.floor(us / 1000) + ' ms';
	if (s < 60)
		return s.toFixed(s < 10 ? 2 : 1) + ' s';
	if (s < 3600)
		return Math.floor(s / 60) + ':' + two(s % 60);
	if (s < 86400)
		return Math.floor(s / 3600) + ':' + two(s / 60 % 60) + ':' + two(s % 60);
	return Math.floor(s / 86400) + 'd ' + two(s / 3600 % 24) + ':' + two(s / 60 % 60);
}
// A moment in the reader's own zone. fine: with milliseconds.
function when(ms, fine) {
	if (ms === null || ms === undefined)
		return '?';
	const d = new Date(ms), two = (n) => String(n).padStart(2, '0');
	if (isNaN(d))
		return '?';
	return d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' + two(d.getHours()) + ':' + two(d.getMinutes()) +
		':' + two(d.getSeconds()) + (fine ? '.' + String(d.getMilliseconds()).padStart(3, '0') : '');
}
// The JSON of the commands has times as texts.
const parsed = (text) => (text ? Date.parse(text.replace(/(\.\d{3})\d*Z$/, '$1Z')) : null);
const count = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many || one + 's');

// An element. Attributes: `on` has handlers, what is false or null is left out. Children: elements and texts.
function h(tag, attributes, ...children) {
	const svg = tag.startsWith('svg:');
	const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag.slice(4)) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name === 'on')
			for (const [event, handler] of Object.entries(value))
				e.addEventListener(event, handler);
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(name, value === true ? '' : value);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ''));
	return e;
}
const byId = (id) => document.getElementById(id);
function fill(id, ...children) {
	byId(id).replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined && c !== ''));
}
// A text of the record: its direction is its own affair.
const named = (text) => h('bdi', {dir: 'auto'}, text);
const possible = (sure) => (sure ? null : h('span', {class: 'maybe', title: 'only possible'}, h('span', {'aria-hidden': 'true'}, '?'),
	h('span', {class: 'said'}, 'possible')));
function facts(...pairs) {
	const dl = h('dl', {class: 'facts'});
	for (const [name, value] of pairs) {
		if (value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length))
			continue;
		dl.append(h('dt', {}, name), h('dd', {}, ...[value].flat()));
	}
	return dl;
}
