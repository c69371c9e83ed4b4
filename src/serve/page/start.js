// start.js - which page it is.
if (/\/table$/.test(location.pathname)) {
	document.title = 'Settings and metrics - stemma';
	fill('title', 'Settings and metrics');
	fill('list-head', tableState.get('where') ? ['Runs that ', named(escapeText(tableState.get('where')))] : 'All runs that told any');
	showTable().catch(sayError);
} else if (/\/trust$/.test(location.pathname)) {
	document.title = 'What the record shows - stemma';
	fill('title', 'What the record shows');
	fill('list-head', named(escapeText(tableState.get('id') || '')));
	showTrust().catch(sayError);
} else if (searching) {
	document.title = asked + ' - stemma';
	document.querySelector('nav.site input').value = asked;
	fill('title', 'Search');
	fill('list-head', 'Found by ', named(escapeText(expressionOf(asked))));
	if (asked)
		find('').catch(sayError);
	else
		say('Nothing was asked for.');
} else {
	document.title = 'Runs - stemma';
	fill('title', 'Runs');
	fill('list-head', 'Newest first');
	refresh().catch(sayError);
	listen();
}
