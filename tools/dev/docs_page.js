// On every page of the documentation: the way back to the operator page where a node serves both, the search,
// buttons that copy, and a hint beside tables that are too wide. What is searched
// (pages.js) is loaded when somebody begins to type; a script, because pages that are opened as files may load no other data.
'use strict';
const up = document.documentElement.dataset.up;
const box = document.getElementById('search');
const found = document.getElementById('found');
const number = document.getElementById('number');
const MOST = 20;
let asked = false;

if (location.protocol.startsWith('http')) {
  const back = document.querySelector('.back');
  back.href = `${up}../`;
  back.hidden = false;
}

function item({ page, heading, text, href }) {
  const entry = document.createElement('li');
  const link = document.createElement('a');
  link.href = up + href;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  entry.append(link, ` ${window.isocenterSearch.excerpt(text, box.value)}`);
  return entry;
}

function numberText({ all, sections }) {
  if (sections.length === 0) return 'No section has any of these words.';
  const how = sections.length > MOST ? `${sections.length} sections, of which the best ${MOST} are shown` : sections.length === 1 ? 'One section' : `${sections.length} sections`;
  return all ? `${how}.` : `No section has all these words. ${how} with some of them.`;
}

function show() {
  found.replaceChildren();
  number.textContent = '';
  if (box.value.trim() === '' || !window.isocenterSections) return;
  const result = window.isocenterSearch.find(window.isocenterSections, box.value);
  found.append(...result.sections.slice(0, MOST).map(item));
  number.textContent = numberText(result);
}

box.addEventListener('input', () => {
  show();
  if (asked) return;
  asked = true;
  const data = document.createElement('script');
  data.src = `${up}pages.js`;
  data.onload = show;
  document.head.append(data);
});

// A button beside each block of commands, where the browser has a clipboard for it.
for (const block of navigator.clipboard ? document.querySelectorAll('main pre') : []) {
  const around = document.createElement('div');
  around.className = 'code';
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.textContent = 'Copy';
  copy.addEventListener('click', () => navigator.clipboard.writeText(block.textContent).then(
    () => { copy.textContent = 'Copied'; }, () => { copy.textContent = 'Not allowed'; },
  ));
  copy.addEventListener('blur', () => { copy.textContent = 'Copy'; });
  block.replaceWith(around);
  around.append(copy, block);
}

// A table that is wider than the window says so.
function markWide() {
  for (const table of document.querySelectorAll('main table')) table.parentElement.classList.toggle('wide', table.scrollWidth > table.clientWidth + 1);
}
for (const table of document.querySelectorAll('main table')) {
  const around = document.createElement('div');
  table.replaceWith(around);
  around.append(table);
}
markWide();
addEventListener('resize', markWide);
