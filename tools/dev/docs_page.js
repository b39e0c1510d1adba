// On every page of the documentation: the way back to the operator page where a node serves both, and the search. What is searched
// (pages.js) is loaded when somebody begins to type; a script, because pages that are opened as files may load no other data.
'use strict';
const up = document.documentElement.dataset.up;
const box = document.getElementById('search');
const found = document.getElementById('found');
const MOST = 20;
let asked = false;

if (location.protocol.startsWith('http')) {
  const back = document.querySelector('.back');
  back.href = `${up}../`;
  back.hidden = false;
}

// Sections with all the words; those that have them as they were typed, one after the other, first; then those with a word in their heading.
function matches(words) {
  const phrase = words.join(' ');
  const rank = ({ page, heading, text }) => (`${heading} ${text}`.toLowerCase().includes(phrase) ? words.length : 0)
    + words.filter((word) => `${page} ${heading}`.toLowerCase().includes(word)).length;
  return window.isocenterSections
    .filter(({ page, heading, text }) => words.every((word) => `${page} ${heading} ${text}`.toLowerCase().includes(word)))
    .sort((a, b) => rank(b) - rank(a));
}

function item({ page, heading, text, href }, word) {
  const entry = document.createElement('li');
  const link = document.createElement('a');
  link.href = up + href;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 50);
  entry.append(link, ` ${at > 0 ? '… ' : ''}${text.slice(at, at + 140)}`);
  return entry;
}

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (words.length === 0 || !window.isocenterSections) return;
  const all = matches(words);
  found.append(...all.slice(0, MOST).map((section) => item(section, words[0])));
  if (all.length !== 0 && all.length <= MOST) return;
  const rest = document.createElement('li');
  rest.textContent = all.length === 0 ? 'No section has all these words.' : `${all.length - MOST} more`;
  found.append(rest);
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
