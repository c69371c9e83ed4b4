// resources.js - what the run used: figures, limits, and how it went over time.
const figures = [['wall_time', 'Time'], ['cpu_time', 'CPU time'], ['cores', 'Cores, on average'], ['cores_peak', 'Cores, at most'], ['memory_resident_peak', 'Memory, at most'], ['memory_anonymous_peak', '... not of files'],
	['memory_file_peak', '... of files'], ['memory_shared_peak', '... shared'], ['memory_virtual_peak', 'Address space, at most'], ['swap_peak', 'Swap space, at most'], ['bytes_read', 'Bytes read'], ['bytes_written', 'Bytes written'],
	['storage_read', 'Bytes from storage'], ['storage_written', 'Bytes to storage'], ['bytes_received', 'Bytes received'], ['bytes_sent', 'Bytes sent'], ['read_calls', 'Calls that read'], ['write_calls', 'Calls that write'],
	['processes_total', 'Processes'], ['processes_concurrent_peak', 'Processes at a time, at most'], ['threads_peak', 'Threads, at most'], ['open_files_peak', 'Open files, at most'], ['context_switches_voluntary', 'Times a thread waited'],
	['context_switches_involuntary', 'Times a thread was made to wait'], ['page_faults_minor', 'Page faults, from memory'], ['page_faults_major', 'Page faults, from storage'], ['disk_footprint_peak', 'Space on disk, at most'], ['files_peak', 'Files, at most'],
	['directories_peak', 'Folders, at most'], ['gpus', 'GPUs'], ['gpu_time', 'GPU time'], ['gpu_memory_peak', 'GPU memory, at most'], ['cycles', 'Cycles'], ['instructions', 'Instructions']];
function amount(value, unit) {
	if (unit === 's')
		return duration(Math.round(value * 1e6));
	if (unit === 'B')
		return size(Math.round(value));
	return unit === 'cores' ? value.toFixed(2) : value.toLocaleString('en');
}
const limitName = (name) => name.replace(/[_-]/g, ' ');

function figureTable(summary) {
	const rows = [], absent = [];
	for (const [key, label] of figures) {
		const f = summary[key];
		if (!f)
			continue;
		if (f.value === undefined) {
			if (f.absent)
				absent.push(label + ': ' + f.absent);
			continue;
		}
		rows.push([label, (f.complete ? '' : '\u2265 ') + amount(f.value, f.unit), f.low === undefined ? '' : amount(f.low, f.unit) + ' to ' + amount(f.high, f.unit), f.method || '']);
	}
	return [h('div', {class: 'scroll', role: 'region', 'aria-label': 'Table of what was used', tabindex: '0'}, h('table', {}, h('caption', {}, 'What was used'), h('thead', {}, h('tr', {}, ...['Figure', 'Value', 'Surely between', 'Found by'].map((t, i) => h('th', {scope: 'col', class: i === 1 ? 'num' : null}, t)))),
		h('tbody', {}, ...rows.map((r) => h('tr', {}, h('th', {scope: 'row'}, r[0]), h('td', {class: 'num'}, r[1]), h('td', {}, r[2]), h('td', {class: 'dim'}, named(escapeText(r[3])))))))),
	absent.length ? h('details', {}, h('summary', {}, 'Not known (' + absent.length + ')'), h('ul', {class: 'list'}, ...absent.map((t) => h('li', {}, escapeText(t))))) : null];
}
function limitList() {
	if (!raw.limits.length)
		return [h('p', {class: 'note'}, 'It was held to no limits.')];
	return [h('ul', {class: 'list'}, ...raw.limits.map((l) => h('li', {}, escapeText(limitName(l.name)) + ': ' + amount(l.limit, l.unit), l.peak === undefined ? null : h('span', {class: 'bad'}, ', exceeded: ' + amount(l.peak, l.unit)))))];
}

// ---- pictures: SVG whose texts and numbers are set as attributes and texts, never as markup ----
const WIDE = 720, HIGH = 130, LEFT = 74, BOTTOM = 22, TOP = 12;
const tick = (v) => Number(v.toPrecision(6));
function niceStep(most) {
	const ten = Math.pow(10, Math.floor(Math.log10(most || 1)));
	return [0.2, 0.5, 1, 2, 5, 10].map((k) => k * ten).find((s) => most / s <= 4) || most;
}
const stepOfBytes = (most) => {
	let unit = 1;
	while (most / unit >= 1024)
		unit *= 1024;
	return niceStep(most / unit) * unit;
};
const secondsText = (s) => (s === 0 ? '0' : s < 60 ? tick(s) + ' s' : duration(s * 1e6));
function timeAxis(span, high) {
	const out = [], step = niceStep(span);
	for (let t = 0; t <= span * 1.0001; t += step) {
		const at = LEFT + t / span * (WIDE - LEFT - 12);
		out.push(h('svg:line', {x1: at, x2: at, y1: TOP, y2: high - BOTTOM, class: 'grid'}), h('svg:text', {x: at, y: high - 6, 'text-anchor': 'middle'}, secondsText(t)));
	}
	return out;
}
// points: [seconds, value or null]. steps: a value holds until the next one. limit: {value, label}.
function chart(title, points, span, unit, options) {
	const most = Math.max(...points.map((p) => p[1] || 0), options && options.limit && options.limit <= 4 * Math.max(...points.map((p) => p[1] || 0)) ? options.limit : 0, 1e-9);
	const step = unit === 'B' ? stepOfBytes(most) : niceStep(most), top = Math.ceil(most / step) * step;
	const across = (t) => tick(LEFT + t / span * (WIDE - LEFT - 12)), up = (v) => tick(HIGH - BOTTOM - v / top * (HIGH - BOTTOM - TOP));
	let path = '', before = null;
	for (const [t, v] of points) {
		if (v !== null)
			path += before === null ? 'M' + across(t) + ' ' + up(v) : (options && options.steps ? 'H' + across(t) + 'V' + up(v) : 'L' + across(t) + ' ' + up(v));
		before = v;
	}
	const grid = [];
	for (let v = 0; v <= top * 1.0001; v += step)
		grid.push(h('svg:line', {x1: LEFT, x2: WIDE - 12, y1: up(v), y2: up(v), class: 'grid'}), h('svg:text', {x: LEFT - 6, y: up(v) + 4, 'text-anchor': 'end'}, unit === 'B' ? (v ? size(v).replace('.0 ', ' ') : '0') : String(tick(v))));
	const peak = Math.max(...points.map((p) => p[1] || 0)), at = unit === 'B' ? size(Math.round(peak)) : String(Number(peak.toPrecision(3)));
	const limit = options && options.limit && options.limit <= top ? [h('svg:line', {x1: LEFT, x2: WIDE - 12, y1: up(options.limit), y2: up(options.limit), class: 'limit'})] : [];
	return h('figure', {}, h('figcaption', {}, title, h('span', {class: 'dim'}, ', at most ' + at + (options && options.limit ? '; limit ' + amount(options.limit, unit) : ''))),
		h('svg:svg', {viewBox: '0 0 ' + WIDE + ' ' + HIGH, role: 'img', 'aria-label': title + ' over time, at most ' + at}, ...grid, ...timeAxis(span, HIGH), ...limit, h('svg:path', {d: path || 'M0 0', class: 'curve'})));
}
const limitOf = (...names) => {
	const l = raw.limits.find((one) => names.includes(one.name));
	return l ? l.limit : null;
};
function seriesCharts(series) {
	const c = series.columns, t = c.since, span = Math.max(t[t.length - 1], 1e-3), of = (name) => (c[name] && c[name].some((v) => v !== null) ? t.map((s, i) => [s, c[name][i]]) : null);
	const rate = (name) => (c[name] ? t.map((s, i) => [s, i && c[name][i] !== null && c[name][i - 1] !== null && s > t[i - 1] ? Math.max(0, (c[name][i] - c[name][i - 1]) / (s - t[i - 1])) : i ? null : 0]) : null);
	const charts = [['Memory', of('memory_resident'), 'B', {limit: limitOf('memory')}], ['Cores at work', of('cores'), 'cores', {limit: limitOf('cores')}], ['Bytes read each second', rate('bytes_read'), 'B'], ['Bytes written each second', rate('bytes_written'), 'B'],
		['Processes', of('processes'), '', {limit: limitOf('processes'), steps: true}], ['Space on disk', of('disk_footprint'), 'B', {limit: limitOf('disk')}], ['GPU memory', of('gpu_memory'), 'B']];
	return [h('h3', {}, 'Over time, as it was measured'), h('p', {class: 'note'}, count(series.samples, 'sample') + (series.samples > t.length ? '; of each stretch the greatest is shown' : '') + '. What happened between two of them is not seen.'),
		h('div', {class: 'charts'}, ...charts.filter((one) => one[1] && one[1].some((p) => p[1] !== null)).map(([title, points, unit, options]) => chart(title, points, span, unit, options)))];
}

// The programs of the run, with times: [node, from, to] in seconds since its start.
function programTimes() {
	const row = runRow(), start = row === null || run.start(row) === null ? null : run.start(row), all = [];
	let end = row !== null && run.span(row) !== null && run.span(row) > 0 ? run.span(row) / 1e6 : 0;
	if (start === null)
		return {all, end};
	for (let n = FILES; n < NODES; n++) {
		if (x('run', n) !== row || x('start', n) === null || x('span', n) === null || (x('image', n) === 0 && isMinor(n)))
			continue;
		const from = (x('start', n) - start) / 1e6, to = x('span', n) < 0 ? null : from + x('span', n) / 1e6;
		all.push([n, Math.max(0, from), to]);
		end = Math.max(end, to === null ? from : to);
	}
	for (const one of all)
		if (one[2] === null)
			one[2] = end;
	all.sort((a, b) => a[1] - b[1] || b[2] - a[2] || a[0] - b[0]);
	return {all, end: Math.max(end, 1e-6)};
}
// How many of the programs, or what of them together, at each time: [seconds, value].
function together(all, weight) {
	const events = [];
	for (const [n, from, to] of all) {
		const w = weight(n, to - from);
		if (w !== null)
			events.push([from, w], [to, -w]);
	}
	events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	const points = [[0, 0]];
	let sum = 0;
	for (const [t, w] of events) {
		sum += w;
		if (points[points.length - 1][0] === t)
			points[points.length - 1][1] = sum;
		else
			points.push([t, sum]);
	}
	return points.map(([t, v]) => [t, Math.max(0, v)]);
}
function gantt(all, end) {
	const most = 60, listed = all.filter(([n]) => !isMinor(n)).slice().sort((a, b) => (b[2] - b[1]) - (a[2] - a[1])).slice(0, most).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
	const total = all.filter(([n]) => !isMinor(n)).length, line = 17, high = listed.length * line + TOP + BOTTOM;
	if (!listed.length)
		return [];
	const bars = listed.map(([n, from, to], i) => {
		const at = tick(LEFT + from / end * (WIDE - LEFT - 12)), wide = Math.max(1.5, tick((to - from) / end * (WIDE - LEFT - 12))), y = TOP + i * line, name = nameOf(n), inside = wide > WIDE * 0.45, right = at < WIDE * 0.55;
		return h('svg:g', {class: 'bar' + (failed(x('ending', n), x('code', n)) ? ' failed' : ''), on: {click: () => go({node: idOf(n)})}}, h('svg:title', {}, name + ', ' + duration(x('span', n))),
			h('svg:rect', {x: at, y: y + 2, width: wide, height: line - 5, rx: 2}), h('svg:text', {class: inside ? 'inside' : null, x: inside ? at + 5 : right ? at + wide + 4 : at - 4, y: y + line - 5, 'text-anchor': inside || right ? 'start' : 'end', direction: 'ltr'}, name.length > 60 ? name.slice(0, 59) + '\u2026' : name));
	});
	return [h('h3', {}, 'Programs over time'), total > most ? h('p', {class: 'note'}, 'The ' + most + ' that took longest, of ' + total.toLocaleString('en') + '.') : null, h('figure', {class: 'gantt', tabindex: '0', role: 'group', 'aria-label': 'Programs over time'}, h('svg:svg', {viewBox: '0 0 ' + WIDE + ' ' + high, role: 'img', 'aria-label': 'Programs over time; the table of programs has the same'}, ...timeAxis(end, high), ...bars))];
}
function renderResources() {
	const summary = raw.resources && raw.resources.summaries.length ? raw.resources.summaries[0] : null, out = [];
	const {all, end} = programTimes();
	if (summary)
		out.push(h('p', {class: 'note'}, 'Of the whole run' + (isRun ? '' : ' that made the file') + '. \u2265 stands where a part of it was not seen. A figure without bounds is exact as far as it was seen.'), ...figureTable(summary), h('h3', {}, 'Limits'), ...limitList());
	else
		out.push(h('p', {class: 'note'}, 'What the run used as a whole is not recorded.'));
	if (raw.series)
		out.push(...seriesCharts(raw.series));
	if (all.length) {
		const charts = [chart('Programs at a time', together(all, () => 1), end, '', {steps: true})];
		if (!raw.series && all.some(([n]) => x('rss', n) !== null))
			charts.push(chart('Memory: peaks of the programs that ran together, added', together(all, (n) => x('rss', n)), end, 'B', {steps: true, limit: limitOf('memory')}));
		if (!raw.series && all.some(([n]) => x('cpu', n) !== null))
			charts.push(chart('Cores: CPU time of each program, spread over its life', together(all, (n, span) => (x('cpu', n) === null || span <= 0 ? null : x('cpu', n) / 1e6 / span)), end, 'cores', {steps: true}));
		out.push(...gantt(all, end), h('h3', {}, 'From the figures of the programs'), raw.series ? null : h('p', {class: 'note'}, 'No series was given to this page (stemma run --series, stemma report --series): what follows comes from start, end and totals of each program.'), h('div', {class: 'charts'}, ...charts));
	}
	fill('resources-body', ...out);
}
