// On every page of the documentation: the way back to the operator page where a node serves both, the search,
// buttons that copy, and a hint beside tables that are too wide. What is searched
// (pages.js) is loaded when somebody begins to type; a script, because pages that are opened as files may load no other data.
'use strict';
const up = document.documentElement.dataset.up;
const box = document.getElementById('docs-search');
const found = document.getElementById('docs-found');
const number = document.getElementById('docs-number');
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

// On a telephone the text begins on the first screen.
if (matchMedia('(max-width: 800px)').matches) for (const contents of document.querySelectorAll('.contents details')) contents.open = false;

// What is wider than the window is pushed aside: it says so, and keys reach it.
function markWide() {
  for (const box of document.querySelectorAll('main .table, main pre')) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle('wide', wide);
    if (!wide) {
      for (const name of ['tabindex', 'role', 'aria-label']) box.removeAttribute(name);
      continue;
    }
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', box.tagName === 'PRE' ? 'Lines, to be pushed aside' : 'Table, to be pushed aside');
  }
}
for (const table of document.querySelectorAll('main .table')) {
  const more = document.createElement('p');
  more.className = 'more';
  more.textContent = 'More to the right: push the table aside';
  table.after(more);
}
markWide();
addEventListener('resize', markWide);

// The page of what is not there says where that is.
const missing = document.getElementById('missing');
if (missing) missing.textContent = location.pathname;
