// What the search of the documentation finds. Beside docs_page.js in one script; web/test/docs.test.ts asks it, too.
'use strict';
// Words that a question has and no section is told apart by.
const STOP = new Set('a an and are as at be by can do does for from how i in is it mean means my of on or that the this to what when where which why with'.split(' '));
// Beginnings of words that mean the same here.
const SAME = [
  ['anonymi', 'deidentif', 'pseudonym'], ['artifact', 'artefact'], ['color', 'colour'], ['center', 'centre'], ['gray', 'grey'],
  ['firewall', 'port'], ['keyboard', 'keys'], ['phone', 'telephone'],
];
// What other programs call it: words that are looked for as what they are called here, too, and names, in place of which others are.
const CALLED = { login: ['sign in', 'sign on'], password: ['sign in', 'sign on'], black: ['dark'] };
const NAMES = [['log in', 'login'], ['log on', 'login'], ['logon', 'login'], ['window level', 'change the window'], ['windowing', 'change the window'], ['handover', 'hand over']];
const EXCERPT = 140;
const BEFORE = 50;

// Lower case, without what words are joined by: "De-identified" and "deidentified" are one. Names of programs are there as they are, and in words: frame_gap, IsocenterDicomQueueStuck.
const plainOf = (text) => lowered(text + [...text.matchAll(/[\p{L}\p{N}]*(?:_|\p{Ll}\p{Lu})[\p{L}\p{N}_]*/gu)].map(([name]) => ` ${name.replace(/_/g, ' ').replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')}`).join(''));
const lowered = (text) => text.toLowerCase().replace(/\bde-identif/g, 'deidentif').replace(/[^\p{L}\p{N}_]+/gu, ' ').trim();

const named = (typed) => NAMES.reduce((text, [other, here]) => text.replace(` ${other} `, ` ${here} `), ` ${lowered(typed)} `).trim();

// Of what was typed the words that are looked for; all where there is no other.
function wordsOf(typed) {
  const all = named(typed).split(' ').filter(Boolean);
  // The numbers of a message that was copied are those of one day.
  const telling = all.filter((word) => !STOP.has(word) && !/^\p{N}+$/u.test(word));
  return telling.length > 0 ? telling : all;
}

// Each as itself, without the ending of its plural, and as what means the same.
function formsOf(word) {
  const one = word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
  const same = SAME.filter((group) => group.some((other) => one.startsWith(other) || (one.length > 4 && other.startsWith(one)))).flat();
  return [...new Set([one, ...same, ...(Object.hasOwn(CALLED, one) ? CALLED[one] : [])])];
}

// Whether one letter too many, too few, another or two that have changed places make one of the other.
function nearly(a, b) {
  if (Math.abs(a.length - b.length) > 1) return false;
  let begin = 0;
  while (begin < a.length && a[begin] === b[begin]) begin += 1;
  const rest = (text, from) => text.slice(from);
  return rest(a, begin + 1) === rest(b, begin + 1) || rest(a, begin + 1) === rest(b, begin) || rest(a, begin) === rest(b, begin + 1)
    || (a[begin] === b[begin + 1] && a[begin + 1] === b[begin] && rest(a, begin + 2) === rest(b, begin + 2));
}

// Shorter words are near to too many others.
const SHORTEST_CORRECTED = 4;
const MOST_CORRECTIONS = 3;

// What is looked for in place of a word that no section has: the words of the pages that are nearly it, the most frequent first.
function corrected(sections, word) {
  if (word.length < SHORTEST_CORRECTED) return [word];
  const counts = new Map();
  for (const { page, heading, text } of sections) {
    for (const other of plainOf(`${page} ${heading} ${text}`).split(' ')) if (nearly(word, other)) counts.set(other, (counts.get(other) ?? 0) + 1);
  }
  const near = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_CORRECTIONS).map(([other]) => other);
  return near.length > 0 ? near.flatMap(formsOf) : [word];
}

const isKnown = (sections, forms) => sections.some(({ page, heading, text }) => has(plainOf(`${page} ${heading} ${text}`), forms) > 0);

// How well a text has a word: 2 as it is, or as its plural; 1 at the beginning of another; 0 not.
function has(text, forms) {
  let best = 0;
  for (const form of forms) {
    if (` ${text} `.includes(` ${form} `) || ` ${text} `.includes(` ${form}s `)) return 2;
    if (` ${text}`.includes(` ${form}`)) best = 1;
  }
  return best;
}

// A section that says a word often is about it; up to so many times.
const MOST_COUNTED = 3;
const times = (text, word) => ` ${text}`.split(` ${word}`).length - 1;

// Why something was decided, and how fast it is, is seldom what is asked for.
const isLast = (href) => /^(adr\/|performance\.html|papers\.html|index\.html#decisions)/.test(href);

// Pages for those who use it, and above all what words mean and what helps; formats are for programs.
const bonus = (href) => (/^(glossary|troubleshooting|runbook)/.test(href) ? 5 : href.startsWith('user-guide/operator-page') ? 4 : href.startsWith('user-guide/') ? 2 : href.startsWith('formats/') ? -4 : 0);

// Words that stand together as they were typed tell more than where single ones do.
const PHRASE = 8;

// How well a section answers; 0: it has not enough of the words.
function score(section, words, phrases, enough) {
  const [page, heading, text] = [section.page, section.heading, section.text].map(plainOf);
  let found = 0;
  let sum = 0;
  for (const forms of words) {
    const [inPage, inHeading, inText] = [has(page, forms), has(heading, forms), has(text, forms)];
    if (inPage + inHeading + inText > 0) found += 1;
    sum += 2 * inPage + 3 * inHeading + 2 * inText + Math.min(MOST_COUNTED, times(text, forms[0]));
  }
  if (found < enough) return 0;
  const together = (where) => (phrases.some((phrase) => phrase.includes(' ') && ` ${where} `.includes(` ${phrase} `)) ? 1 : 0);
  return Math.max(1, sum + PHRASE * (together(heading) + together(text)) + bonus(section.href));
}

// Sections for what was typed, best first; where none has all words, those with most of them.
function find(sections, typed) {
  const typedWords = wordsOf(typed);
  const words = typedWords.map((word) => (isKnown(sections, formsOf(word)) ? formsOf(word) : corrected(sections, word)));
  const phrases = [typedWords.join(' '), named(typed)];
  for (let enough = words.length; enough > 0; enough -= 1) {
    const found = sections
      .map((section) => ({ section, points: score(section, words, phrases, enough) }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => Number(isLast(a.section.href)) - Number(isLast(b.section.href)) || b.points - a.points);
    if (found.length > 0) return { all: enough === words.length, sections: found.map(({ section }) => section) };
  }
  return { all: false, sections: [] };
}

// Whole words of a text around the first of what was typed.
function excerpt(text, typed) {
  const forms = wordsOf(typed).flatMap(formsOf);
  const lower = text.toLowerCase();
  const placesOf = (ending) => forms.map((form) => lower.search(new RegExp(`(?<![\\p{L}\\p{N}])${form}${ending}`, 'u'))).filter((at) => at >= 0);
  const whole = placesOf('(?![\\p{L}\\p{N}])');
  const places = whole.length > 0 ? whole : placesOf('');
  const near = Math.max(0, Math.min(...(places.length > 0 ? places : [0])) - BEFORE);
  const begin = near === 0 ? 0 : text.indexOf(' ', near) + 1;
  const far = begin + EXCERPT;
  const end = far >= text.length ? text.length : Math.max(text.lastIndexOf(' ', far), begin + 1);
  return `${begin > 0 ? '… ' : ''}${text.slice(begin, end)}${end < text.length ? ' …' : ''}`;
}

globalThis.isocenterSearch = { find, excerpt };
