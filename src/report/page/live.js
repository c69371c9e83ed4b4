// live.js - in a page that is served: a run that goes on. What its processes use comes by events, as long as the page is open.
const LIVE_POINTS = 600, live = {points: [], over: false, last: null};

function liveFigures(one) {
	const now = one.now || {}, cpu = live.points.length ? live.points[live.points.length - 1].cores : null;
	return facts(['Programs so far', number(one.executions)], ['Outputs so far', number(one.outputs)], ['Processes', now.processes === undefined ? '?' : (now.complete ? '' : '\u2265 ') + number(now.processes)], ['Threads', number(now.threads)],
		['Memory', now.memory_resident === undefined ? '?' : size(now.memory_resident)], ['CPU time', now.cpu_time === undefined ? '?' : duration(now.cpu_time * 1e6)], ['Cores at work', cpu === null ? '' : cpu.toFixed(2)],
		['Bytes read', now.bytes_read === undefined ? '?' : size(now.bytes_read)], ['Bytes written', now.bytes_written === undefined ? '?' : size(now.bytes_written)]);
}
const number = (n) => (n === null || n === undefined ? '?' : n.toLocaleString('en'));
// A point for each event. Between two of them nothing is known; of many every second one is dropped.
function addLivePoint(one, at) {
	const now = one.now || {}, before = live.points[live.points.length - 1], cpu = now.cpu_time === undefined ? null : now.cpu_time;
	const cores = before && cpu !== null && before.cpu !== null && at > before.at ? Math.max(0, (cpu - before.cpu) / (at - before.at)) : null;
	const rate = (key) => (before && now[key] !== undefined && before[key] !== undefined && at > before.at ? Math.max(0, (now[key] - before[key]) / (at - before.at)) : null);
	live.points.push({at, cpu, cores, memory: now.memory_resident === undefined ? null : now.memory_resident, processes: now.processes === undefined ? null : now.processes, bytes_read: now.bytes_read, bytes_written: now.bytes_written, read: rate('bytes_read'), written: rate('bytes_written')});
	if (live.points.length > LIVE_POINTS)
		live.points = live.points.filter((_, i) => i % 2 === 0 || i === live.points.length - 1);
}
function liveCharts() {
	const p = live.points, first = p[0].at, span = Math.max(p[p.length - 1].at - first, 1e-3), of = (key) => p.map((one) => [one.at - first, one[key]]);
	const charts = [['Memory', 'memory', 'B'], ['Cores at work', 'cores', 'cores'], ['Bytes read each second', 'read', 'B'], ['Bytes written each second', 'written', 'B'], ['Processes', 'processes', '']];
	return p.length < 2 ? [] : [h('div', {class: 'charts'}, ...charts.filter(([, key]) => p.some((one) => one[key] !== null)).map(([title, key, unit]) => chart(title, of(key), span, unit, {steps: key === 'processes'})))];
}
const loadAgain = () => h('p', {}, h('button', {type: 'button', on: {click: () => location.reload()}}, 'Load what is recorded by now'));
function renderLive(one) {
	live.over = one.recording !== 'running';
	fill('live-head', live.over ? 'The run has ended' : 'Running');
	if (live.over) {
		fill('live-body', h('p', {class: 'state whole'}, 'The run ended while this page was open. Below stands what was recorded when the page was loaded.'), loadAgain(), ...liveCharts());
		return;
	}
	fill('live-body', liveFigures(one), ...liveCharts(), h('p', {class: 'note'}, 'Measured every two seconds, since this page was opened; memory that processes share counts to each. Below stands what was recorded when the page was loaded.'), loadAgain());
}
function listenToRun() {
	const events = new EventSource('api/v1/events');
	events.addEventListener('progress', (e) => {
		const one = JSON.parse(e.data).runs.find((r) => r.id === about.id), text = JSON.stringify(one);
		if (!one || text === live.last)
			return;
		live.last = text;
		if (one.recording === 'running')
			addLivePoint(one, performance.now() / 1000);
		else
			events.close();
		byId('live').hidden = false;
		renderNav();
		renderLive(one);
	});
}
if (served && isRun && about && about.recording === 'running')
	listenToRun();
